"""Threads and processes that write to one file at once."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from tests.engine.layers.conftest import contents

pytestmark = pytest.mark.files
WORKER = """
import sys
from rotifer_engine import AuditLog, SqliteStore
from rotifer_engine.layers import Layers

database, audit, name = sys.argv[1:]
layers = Layers(SqliteStore(database, durable=False), audit=AuditLog(audit))
print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    layers.save("consensus", f"{name} {number}", kind="fact", key="standing")
    layers.save("about_me", f"{number}", actor=name, kind="fact")
    layers.save("about_me", "the same", actor="both", kind="fact")
"""


def test_two_processes_lose_no_write_and_make_no_entry_twice(cell, layers):
    """One standing entry for both, one row for what both say, all rows of each."""
    cell.store.last_change()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, cell.database, cell.audit_path, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for worker in workers:
        assert "ready\n" == worker.stdout.readline()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    assert [0, 0] == [worker.wait(60) for worker in workers]
    for worker in workers:
        worker.stdin.close()
        worker.stdout.close()

    [standing] = layers.list(layer="consensus")
    assert standing.content in {"a 29", "b 29"}
    assert 1 == layers.counts(actor="both")["about_me"]
    for name in ("a", "b"):
        expected = [f"{number}" for number in range(29, -1, -1)]
        assert expected == contents(layers.list(actor=name, layer="about_me"))
    actions = cell.actions()
    assert (62, 59) == (actions.count("memory.layer_create"), actions.count("memory.layer_update"))


def test_threads_share_the_layers(layers):
    """The object has no state of its own."""

    def work(name):
        for number in range(20):
            layers.save("about_me", f"{number}", actor=name, kind="fact")

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [20] * 4 == [layers.counts(actor=f"t{number}")["about_me"] for number in range(4)]
