"""The audit log: what became of every entry, and who asked (memory §9).

The guarantee: no change without its line. Lines are on the disk before the change is committed;
what a line says may therefore, after a crash between the two, not have happened. To keep the log
true, every append begins by settling the last change in the file: the store remembers the id of
the last change it committed, both are looked at under the store's write lock, and a change that
the store does not know gets a line ``memory.abandoned`` before anything else is written. A log
that holds no line of ours, because it was rotated, begins with ``memory.continued``, which names
the last committed change. Half a line, which a process left that was killed in it, stays where it
is, and ``memory.torn`` says what it is. So the fate of each line is in the log by the next recorded
action, and replaying it gives the current set of keys (:mod:`rotifer_engine._replay`).

Values never appear here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._files import FileSystem
from rotifer_engine._lines import LineFile
from rotifer_engine._time import format_time
from rotifer_engine.errors import StorageError
from rotifer_engine.quick import NamedTuple, Protocol, dumps, loads

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from rotifer_engine._reading import LineReader, Numbered
    from rotifer_engine._store import Snapshot
    from rotifer_engine._trail import FileTrail, Trail

__all__ = [
    "ACTIONS",
    "LAYER_ACTIONS",
    "Action",
    "Audit",
    "AuditLog",
    "Line",
    "Locked",
    "Record",
    "is_torn",
    "new_change_id",
    "read_line",
    "record_of",
    "store_of",
]

_BEGINNING = b'{"ts":"'  # of every line of ours
_WINDOW = 64 * 1024
_MAX_WINDOW = 1024 * 1024


class Action(NamedTuple):
    """What a line of this action says.

    Args:
        effect: +1 adds the key, -1 removes it, 0 keeps it; None: the line is about no change.
        result: what stands in the line's ``result``.
        code: the error code that the caller got.
    """

    effect: int | None
    result: str
    code: str | None = None


#: Every action, once. The change of an action with an effect is in need of settling.
ACTIONS: dict[str, Action] = {
    "memory.create": Action(+1, "ok"),
    "memory.update": Action(0, "ok"),
    "memory.delete": Action(-1, "ok"),
    "memory.evict": Action(-1, "ok"),
    "memory.expire": Action(-1, "ok"),
    "memory.erase": Action(0, "ok"),
    "memory.layer_create": Action(+1, "ok"),
    "memory.layer_update": Action(0, "ok"),
    "memory.layer_delete": Action(-1, "ok"),
    "memory.quota_exceeded": Action(None, "refused", "MEMORY_QUOTA_EXCEEDED"),
    "memory.denied": Action(None, "denied", "MEMORY_ACCESS_DENIED"),
    "memory.abandoned": Action(None, "not_committed", "MEMORY_STORAGE_ERROR"),
    "memory.continued": Action(None, "committed"),
    "memory.torn": Action(None, "torn"),
}

#: Those about entries of the layers, which are no agent's.
LAYER_ACTIONS = frozenset(name for name in ACTIONS if name.startswith("memory.layer_"))


class Line(Protocol):
    """What a log needs of a record: which action it is of, and how it looks."""

    @property
    def action(self) -> str:
        """One of :data:`ACTIONS`."""

    def to_line(self, ts: str, change_id: str) -> str:
        """The line, pure ASCII, without its end."""


class Record(NamedTuple):
    """One line, but for its time and its change id.

    Args:
        action: one of :data:`ACTIONS`.
        agent_id: whose memory.
        gene_id: the acting gene's v2 id, or ``deployer``; None for a gene without one.
        gene_domain: its domain.
        operation: the call: ``read``, ``write``, ``query``, ``delete``; the deployer's ``list``,
            ``import``, ``erase``, ``move``.
        entry_id: of the entry it is about.
        key: of the entry it is about.
        category: the entry's category; on a refused write the one asked for.
        size: bytes of key and value; on a refused write those asked for.
        reason: why it was refused.
    """

    action: str
    agent_id: str | None = None
    gene_id: str | None = None
    gene_domain: str | None = None
    operation: str | None = None
    entry_id: str | None = None
    key: str | None = None
    category: str | None = None
    size: int | None = None
    reason: str | None = None

    def to_line(self, ts: str, change_id: str) -> str:
        """The line, pure ASCII, so that a key cannot drive the terminal of who reads it."""
        _, result, code = ACTIONS[self.action]
        fields = {
            "ts": ts,
            "action": self.action,
            "agent_id": self.agent_id,
            "gene_id": self.gene_id,
            "gene_domain": self.gene_domain,
            "operation": self.operation,
            "entry_id": self.entry_id,
            "key": self.key,
            "category": self.category,
            "size": self.size,
            "change_id": change_id,
            "result": result,
            "code": code,
        }
        if self.reason is not None:
            fields["reason"] = self.reason
        return dumps(fields)


def new_change_id(store_id: str) -> str:
    """A change id never used before; it begins with the id of the store that is changed."""
    return f"{store_id}-{os.urandom(8).hex()}"


def store_of(change_id: str) -> str:
    """The id of the store that a change was for."""
    return change_id.partition("-")[0]


class Locked(Protocol):
    """What a log that is no part of the store needs of a transaction that holds the write lock.

    Args:
        last_change: the id of the last change that the store committed; None when it has none.
    """

    last_change: str | None


class Audit(Protocol):
    """Where the lines of changes and refusals go: a file beside the store, or rows in it.

    Args:
        settles: whether a line can be there without its change, so that a change that failed has
            to be told of by one more append.
    """

    settles: bool

    @property
    def path(self) -> str:
        """Where it is, for people."""

    def append(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Write the lines of a change; to be called before the transaction is committed.

        Args:
            tx: the transaction, which holds the write lock.
            records: the lines; none, to settle only.
            change_id: the id that the lines share.

        Raises:
            StorageError: they could not be written; the change must not be made.
        """

    def refuse(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Write lines that stay although the transaction will be rolled back.

        Args:
            tx: the transaction, which holds the write lock; what it changed is given up.
            records: the lines, of actions without an effect.
            change_id: the id that the lines share.

        Raises:
            StorageError: they could not be written.
        """

    def reader(self, agent_id: str, snapshot: Snapshot) -> Numbered:
        """The lines as they are now, to be read and closed: all, or those of an agent.

        Args:
            agent_id: whose lines are wanted.
            snapshot: the store at this moment, for a log that is kept in it.

        Raises:
            OSError: they cannot be read.
        """

    def trail(self, agent_id: str) -> Trail:
        """The lines about an agent from the first one on, and those to come; to be closed."""

    def close(self) -> None:
        """Close what is open; a later append opens it again."""


class _Known(NamedTuple):
    """What is known of the file since our last append: nothing, if its size is another."""

    size: int
    store_id: str
    pending: str | None


class AuditLog:
    """The file of all recorded actions of a project.

    Args:
        path: usually ``.rotifer/audit.jsonl``; made with mode 0600 when it is first needed.
        files: the file operations.
        clock: gives each line its time.
        lock_timeout_ms: how long another process may hold the file's lock.
    """

    settles = True

    def __init__(
        self,
        path: str,
        *,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        lock_timeout_ms: int = 5_000,
    ) -> None:
        self._files = files or FileSystem()
        self._clock = clock or SystemClock()
        self._lines = LineFile(path, self._files, durable=True, lock_timeout_ms=lock_timeout_ms)
        self._known: _Known | None = None

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._lines.path

    def append(self, tx: Locked, records: Iterable[Line], *, change_id: str) -> None:
        """Settle the last change in the file, then write the records, and wait for the disk.

        To be called while the store's write lock is held: that puts all lines of one store in
        the order of its transactions.

        Args:
            tx: the transaction; it knows the last change that the store committed.
            records: the lines; none, to settle only.
            change_id: the id that the lines share.

        Raises:
            StorageError: they could not be written; the change must not be made.
        """
        ts, last_change = format_time(self._clock.now_ms()), tx.last_change
        known, self._known = self._known, None
        pending: str | None = None

        def lines(fd: int, size: int) -> Iterator[str]:
            nonlocal pending
            for record, change in self._settle(fd, size, store_of(change_id), last_change, known):
                yield record.to_line(ts, change)
            if self._ends_torn(fd, size):
                yield Record("memory.torn").to_line(ts, change_id)
            for line in records:
                if ACTIONS[line.action].effect is not None:
                    pending = change_id
                yield line.to_line(ts, change_id)

        try:
            size = self._lines.append(lines)
        except OSError as error:
            from rotifer_engine._remedy import remedy_of

            raise StorageError(
                f"the audit log {self.path} could not be written, so nothing was changed: "
                f"{error.strerror or error}; {remedy_of(error)}"
            ) from error
        self._known = _Known(size, store_of(change_id), pending)

    refuse = append  # the file knows nothing of rollbacks

    def _settle(
        self,
        fd: int,
        size: int,
        store_id: str,
        last_change: str | None,
        known: _Known | None,
    ) -> Sequence[tuple[Record, str]]:
        """What must be said about the last change in the file before anything else is."""
        if known is not None and (known.size, known.store_id) == (size, store_id):
            pending = known.pending
        else:
            found = self._last_line(fd, size, store_id)
            if found is None:
                if last_change is None:
                    return ()
                return ((Record("memory.continued"), last_change),)
            action, change = found
            pending = change if ACTIONS[action].effect is not None else None
        if pending is None or pending == last_change:
            return ()
        return ((Record("memory.abandoned"), pending),)

    def _last_line(self, fd: int, size: int, store_id: str) -> tuple[str, str] | None:
        """Action and change id of the last whole line about this store.

        Looked for in a window at the end. Beyond it, None will do as well: ``memory.continued``
        is true whatever stood there.
        """
        window = _WINDOW
        while True:
            start = max(0, size - window)
            lines = self._files.read_at(fd, start, size - start).split(b"\n")
            if start:
                lines[0] = b""  # cut in its middle
            for line in reversed(lines):
                found = read_line(line)
                if found is not None and store_of(found[1]) == store_id:
                    return found
            if start == 0 or window >= _MAX_WINDOW:
                return None
            window *= 4

    def _ends_torn(self, fd: int, size: int) -> bool:
        """Whether the last line is one of ours of which only the beginning was written."""
        if self._files.read_at(fd, max(0, size - 2), 2) in {b"", b"}\n"}:
            return False  # as nearly always
        start = max(0, size - _WINDOW)
        lines = self._files.read_at(fd, start, size - start).split(b"\n")
        return is_torn(next(filter(None, reversed(lines)), b""))

    def reader(self, agent_id: str, snapshot: Snapshot) -> LineReader:  # noqa: ARG002 - for rows
        """The file as it is now, to be read line by line and closed.

        Raises:
            OSError: among others when it is not there.
        """
        from rotifer_engine._reading import LineReader

        return LineReader(self.path, self._files)

    def trail(self, agent_id: str) -> FileTrail:
        """The lines about an agent in the file as it is named now, and those to come."""
        from rotifer_engine._trail import FileTrail

        return FileTrail(self.path, self._files, agent_id)

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        self._lines.close()


def read_line(line: bytes) -> tuple[str, str] | None:
    """Action and change id of one line; None for a torn or foreign one."""
    if b'"change_id"' not in line:
        return None
    try:
        fields = loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return record_of(fields)


def record_of(fields: object) -> tuple[str, str] | None:
    """Action and change id of a line that was read as JSON; None for one that is none of ours."""
    if not isinstance(fields, dict):
        return None
    action, change_id = fields.get("action"), fields.get("change_id")
    if not isinstance(change_id, str) or not isinstance(action, str) or action not in ACTIONS:
        return None
    return action, change_id


def is_torn(line: bytes) -> bool:
    """Whether it is the beginning of a line of ours and no more, as a killed process leaves it."""
    if not line or line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
        return False
    try:
        loads(line.decode())
    except (ValueError, RecursionError):
        return True
    return False
