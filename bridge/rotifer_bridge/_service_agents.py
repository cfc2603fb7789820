"""The service's calls on agents: list, make, run; and the agents that it keeps warm.

An agent stays warm between its runs: its genes' processes live on. How many do is bounded, and
before each run the files are looked at, so that a changed gene or record runs as it is now.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from rotifer_bridge._agent import TIME_LIMIT, Agent
from rotifer_bridge._json import kind_of
from rotifer_bridge._record import AgentRecord, duplicate_names
from rotifer_bridge._service_body import object_of
from rotifer_bridge._service_errors import Refused
from rotifer_bridge.errors import RotiferError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_bridge._project import Project
    from rotifer_bridge._result import RunResult
    from rotifer_bridge._service_state import Asked, State

__all__ = ["LOG_LINES", "RUN_SECONDS_MAX", "WARM_AGENTS", "WarmAgents", "create", "list_all", "run"]

WARM_AGENTS = 8
"""How many agents stay warm; the one that ran longest ago makes room [ours]."""
RUN_SECONDS_MAX = 600
"""The longest time limit, for each gene, that a request can ask for [ours]."""
LOG_LINES = 1_000
"""How many lines that genes print come back with a run [ours]; the rest is counted."""

_LINE_LIMIT = 2_000
_STAMP_FILES = 10_000


class WarmAgents:
    """The agents that are warm, by their ids.

    Args:
        project: where the agents are.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._agents: OrderedDict[str, tuple[Agent, object]] = OrderedDict()
        self._busy: set[str] = set()
        self._closed = False

    def run(self, record: AgentRecord, **settings: Any) -> RunResult:
        """Run the agent; the caller sees to it that runs of one agent take turns.

        Raises:
            RotiferError: as `Agent.run` says.
            Refused: the service is stopping.
        """
        agent = self._take(record)
        try:
            return agent.run(settings.pop("value"), **settings)
        except RotiferError:
            if self._closed:
                raise _stopping() from None
            raise
        finally:
            with self._lock:
                self._busy.discard(record.id)

    def _take(self, record: AgentRecord) -> Agent:
        stamp = _stamp(self._project, record)
        with self._lock:
            if self._closed:
                raise _stopping()
            stale = []
            agent, before = self._agents.pop(record.id, (None, None))
            if agent is not None and before != stamp:
                stale.append(agent)
                agent = None
            if agent is None:
                agent = Agent(self._project, record)
            self._busy.add(record.id)
            self._agents[record.id] = (agent, stamp)
            stale += self._too_many()
        for old in stale:
            old.close()
        return agent

    def _too_many(self) -> Iterator[Agent]:
        idle = [one for one in self._agents if one not in self._busy]
        while len(self._agents) > WARM_AGENTS and idle:
            yield self._agents.pop(idle.pop(0))[0]

    def close(self) -> None:
        """End all of them; runs that are going on end with an error."""
        with self._lock:
            self._closed = True
            agents = [agent for agent, _ in self._agents.values()]
            self._agents.clear()
        for agent in agents:
            agent.close()


def _stopping() -> Refused:
    return Refused("STOPPING", "the service is stopping; the run was ended", {"retry-after": "5"})


def _stamp(project: Project, record: AgentRecord) -> object:
    """What changes with the agent's record and the files of its genes."""
    seen = [_mark(record.path)]
    for gene in record.genome:
        folders = [os.path.realpath(os.path.join(project.genes_dir, gene))]
        while folders and len(seen) < _STAMP_FILES:
            folder = folders.pop()
            try:
                names = sorted(os.listdir(folder))
            except OSError:
                names = []  # the run says what is wrong
            for name in names:
                path = os.path.join(folder, name)
                mark = _mark(path)
                seen.append(mark)
                if name != "node_modules" and mark and stat.S_ISDIR(mark[1]):
                    folders.append(path)
    return tuple(seen)


def _mark(path: str) -> tuple[str, int, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_mode, found.st_ino, found.st_mtime_ns, found.st_size


# ---- the calls


def list_all(state: State, _: Asked) -> object:
    """Every agent's record, and what is wrong with those that cannot be read."""
    found: list[AgentRecord] = []
    faults: list[RotiferError] = []
    for record in state.project.records():
        if isinstance(record, RotiferError):
            faults.append(record)
        else:
            found.append(record)
    faults += duplicate_names(found)
    found.sort(key=lambda record: (record.name, record.id))
    return {
        "agents": [record.document for record in found],
        "faults": [fault.message for fault in faults],
    }


def create(state: State, asked: Asked) -> object:
    """Make an agent; its record, and what a person should know about it."""
    from rotifer_bridge._create import create_agent

    fields = object_of(
        asked.body,
        ("name", "genes", "composition", "parMerge", "memoryQuota"),
        ("name", "genes"),
    )
    name, genes = fields["name"], fields["genes"]
    composition, merge = fields.get("composition", "Seq"), fields.get("parMerge", "first")
    quota = fields.get("memoryQuota")
    _demand("name", name, str)
    _demand("genes", genes, list)
    for gene in genes:
        _demand("each of genes", gene, str)
    _demand("composition", composition, str, dict)
    _demand("parMerge", merge, str)
    if quota is not None:
        _demand("memoryQuota", quota, str, int)
    created = create_agent(
        state.project, name, genes, composition=composition, par_merge=merge, memory_quota=quota
    )
    return {"agent": created.record.document, "warnings": created.warnings}


def run(state: State, asked: Asked) -> object:
    """Run an agent; what `agent run --json` prints, with the warnings and what genes printed."""
    fields = object_of(asked.body, ("input", "strict", "timeLimit"))
    strict, seconds = fields.get("strict", False), fields.get("timeLimit", TIME_LIMIT)
    _demand("strict", strict, bool)
    _demand("timeLimit", seconds, int, float)
    if not 0 < seconds <= RUN_SECONDS_MAX:
        raise Refused(
            "INVALID_REQUEST",
            f"timeLimit is {_shown(seconds)} s; it must be more than 0 and at most "
            f"{RUN_SECONDS_MAX}",
        )
    warnings: list[str] = []
    log = _Log()
    result = state.warm.run(
        state.project.record(asked.path["agent"]),
        value=fields.get("input", {}),
        strict=strict,
        time_limit=seconds,
        on_log=log.add,
        on_note=warnings.append,
    )
    return {
        **result.to_json(),
        "warnings": warnings,
        "log": log.lines,
        "logLinesDropped": log.dropped,
    }


def _shown(number: float) -> str:
    """A number as it may stand in a message: a whole one can be larger than any float."""
    return f"{number:g}" if abs(number) < 10**20 else "a number of more than 20 digits"


class _Log:
    """What genes print belongs to whoever runs them: it goes back to them, into no log."""

    def __init__(self) -> None:
        self.lines: list[dict[str, str]] = []
        self.dropped = 0

    def add(self, gene: str, line: str) -> None:
        if len(self.lines) < LOG_LINES:
            self.lines.append({"gene": gene, "line": line[:_LINE_LIMIT]})
        else:
            self.dropped += 1


_WORDS = {str: "a string", list: "an array", dict: "an object", bool: "a boolean", int: "a number"}


def _demand(what: str, value: object, *types: type) -> None:
    """Refuse a value that is of another type; a boolean is no number."""
    if type(value) not in types:
        words = " or ".join(dict.fromkeys(_WORDS.get(one, "a number") for one in types))
        raise Refused("INVALID_REQUEST", f"{what} must be {words}; got {kind_of(value)}")
