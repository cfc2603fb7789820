"""What a memory call costs where the memory is on a PostgreSQL server, and what one server carries.

The yardstick of a read is what it cannot do without: the driver's own prepared select of a single
row, in a tight loop, and the bridge's round trip: the same call of the same gene, answered with
the same entry out of a variable. The server is that of ``ROTIFER_TEST_POSTGRES``, else the one on
127.0.0.1:5432; a database of its own is made there, and dropped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit, urlunsplit

import psycopg
from _project import bench_project, put
from _tables import Limit, judged, save, table, typical
from _yardsticks import echo

from rotifer_bridge import Agent, Project
from rotifer_engine import AgentMemory, AuditLog, Caller, Entry, Telemetry, migrate

if TYPE_CHECKING:
    from rotifer_bridge._record import AgentRecord
    from rotifer_engine import Store

SERVER = os.environ.get("ROTIFER_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
HERE = os.path.dirname(os.path.abspath(__file__))
UPSERT = "INSERT INTO yardstick VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
SIZE = 100
COUNT = 2_000
LIMIT = 1.5  # of a read, in the sum of its yardsticks

TRIP = "readMemory, out of a variable"

GENE = """
export function express({ call, count }, { memory }) {
  const value = new Uint8Array(100).fill(97);
  const calls = {
    read: () => memory.readMemory('0'),
    write: (i) => { value[i % 100] = i; return memory.writeMemory(`${i % 10}`, value, 'CONTEXT'); },
  };
  if (call === 'read') calls.write(0);
  calls['read only'] = calls.read;
  const times = [];
  for (let i = -count / 5; i < count; i += 1) {
    const start = process.hrtime.bigint();
    calls[call](i);
    if (i >= 0) times.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return times;
}
"""

Samples = dict[str, list[list[float]]]


class Variable:
    """A store that has one entry, in a variable, and no more to do than to give it."""

    def __init__(self) -> None:
        self.entry: Entry | None = None

    def read(self, agent_id: str, key: str, moment: object) -> tuple[Entry | None, bool]:  # noqa: ARG002 - as a store has it
        """The entry, whatever is asked for."""
        return self.entry, False


class OutOfAVariable(Project):
    """A project whose memories have that store."""

    kept = Variable()

    def memory(self, record: AgentRecord) -> AgentMemory:
        """The agent's memory, with another store."""
        own = super().memory(record)
        audit = AuditLog(os.path.join(self.state_dir, "audit.jsonl"))
        return AgentMemory(
            cast("Store", self.kept),
            own.agent_id,
            audit=audit,
            telemetry=Telemetry("", enabled=False),
        )


def main() -> int:
    """Measure, print, and say by the exit code whether the limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    parser.add_argument("--supervisors", type=int, default=4)
    options = parser.parse_args()
    try:
        with database() as url, tempfile.TemporaryDirectory(prefix="rotifer-bench-") as folder:
            samples = measure(url, folder, options.rounds)
            loads = {
                what: load(url, options.supervisors, options.seconds, what)
                for what in ("read", "mixed", "write")
            }
    except psycopg.OperationalError as error:
        print(f"no PostgreSQL server answers, so nothing was measured: {error}")
        return 0
    return report(samples, loads, options.supervisors)


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The URL of a migrated database."""
    name = f"rotifer_bench_{os.getpid()}"
    with psycopg.connect(SERVER, autocommit=True, connect_timeout=5) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            url = urlunsplit(urlsplit(SERVER)._replace(path=f"/{name}"))
            migrate(url)
            yield url
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def measure(url: str, folder: str, rounds: int) -> Samples:
    """``what -> one list of microseconds a round``; the rounds take turns."""
    samples: Samples = {}
    bench_project(folder)
    put(os.path.join(folder, "genes", "measure", "index.mjs"), GENE)

    def calls(agent: Agent, call: str, count: int) -> list[float]:
        times: list[float] = agent.run({"call": call, "count": count}, time_limit=600).output
        return times

    variable = OutOfAVariable(folder)
    with variable.agent("bench") as here:
        os.environ["ROTIFER_MEMORY_URL"] = url
        with Project.find(folder).agent("bench") as there:
            calls(there, "read", 1)
            [entry] = there.memory.query(Caller("v2:" + "0" * 64, "bench"), {"keyPrefix": "0"})
            variable.kept.entry = entry
            for _ in range(rounds):
                for what, sample in (
                    ("bare pynng echo", echo("nng", SIZE, COUNT)),
                    ("psycopg select", selected(url, COUNT)),
                    (TRIP, calls(here, "read only", COUNT)),
                    ("readMemory", calls(there, "read", COUNT)),
                    ("psycopg upsert", upserted(url, COUNT // 10)),
                    ("writeMemory", calls(there, "write", COUNT // 10)),
                ):
                    samples.setdefault(what, []).append(sample)
    return samples


def selected(url: str, count: int) -> list[float]:
    """The driver's own: one prepared statement, one row of a small value, call after call."""
    times = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS yardstick (k bytea PRIMARY KEY, v bytea)")
        row = (b"k", bytes(SIZE))
        connection.execute("INSERT INTO yardstick VALUES (%s, %s) ON CONFLICT DO NOTHING", row)
        cursor = connection.cursor(binary=True)
        for _ in range(count):
            start = time.perf_counter()
            cursor.execute("SELECT v FROM yardstick WHERE k = %s", (b"k",), prepare=True).fetchone()
            times.append((time.perf_counter() - start) * 1e6)
    return times


def upserted(url: str, count: int) -> list[float]:
    """The driver's own: one durable upsert of a small value."""
    times = []
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        for number in range(count):
            row = (b"%d" % (number % 10), b"%0100d" % number)
            start = time.perf_counter()
            cursor.execute(
                UPSERT,
                row,
                prepare=True,
            )
            times.append((time.perf_counter() - start) * 1e6)
    return times


def load(url: str, supervisors: int, seconds: float, what: str) -> float:
    """Calls a second of so many supervisors at once, each with an agent of its own."""
    script = os.path.join(HERE, "_supervisor.py")
    started = [
        subprocess.Popen(
            [sys.executable, script, url, f"{number}", f"{seconds}", what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(supervisors)
    ]
    calls = 0
    for each in started:
        assert each.stdout is not None, "it is a pipe"
        each.stdout.readline()
    for each in started:
        assert each.stdin is not None, "it is a pipe"
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in started:
        calls += json.loads(each.communicate()[0])
    return calls / seconds


def report(samples: Samples, loads: dict[str, float], supervisors: int) -> int:
    """Print the tables, save the figures, and give the exit code."""
    figures = {what: typical(rounds) for what, rounds in samples.items()}
    tails = {what: typical(rounds, 0.99) for what, rounds in samples.items()}
    table(
        "Memory calls from a gene, the memory on a server (µs, 100 B)",
        ["call", "median", "p99"],
        [(what, f"{figures[what]:,.0f}", f"{tails[what]:,.0f}") for what in figures],
    )
    table(
        f"{supervisors} supervisors on one server, in the engine (calls a second)",
        ["calls", "a second"],
        [(what, f"{rate:,.0f}") for what, rate in loads.items()],
    )
    # Round by round, so that what slows one down slows its yardsticks down too.
    rounds = zip(samples["readMemory"], samples["psycopg select"], samples[TRIP], strict=True)
    ratios = [median(read) / (median(select) + median(trip)) for read, select, trip in rounds]
    save("postgres", {**figures, **{f"{what} a second": rate for what, rate in loads.items()}})
    what = "readMemory 100 B / (psycopg select + the bridge's round trip)"
    return 0 if judged([Limit(what, median(ratios), LIMIT)]) else 1


if __name__ == "__main__":
    sys.exit(main())
