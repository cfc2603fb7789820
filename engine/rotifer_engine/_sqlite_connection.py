"""Connections to the SQLite file: one for each thread and process, opened and closed by itself.

A connection shared by threads lets one thread's rollback erase another's rows, and one carried
over a fork breaks SQLite's locks. So each thread has its own :class:`Link`; it is closed when its
thread ends or the store is closed, and never touched by a forked child.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from _weakrefset import WeakSet  # what `weakref` has it from; `threading` has imported it

from rotifer_engine._dbapi import sqlite3
from rotifer_engine._files import FileSystem
from rotifer_engine._sqlite_errors import is_busy, storage_error
from rotifer_engine._sqlite_schema import see_to_schema
from rotifer_engine._sqlite_text import BEGIN, META
from rotifer_engine._turns import Turn, turn_of
from rotifer_engine.errors import StorageError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias, TypeVar

    _T = TypeVar("_T")
    #: What a statement's placeholders stand for, in their order or by their names.
    Arguments: TypeAlias = Sequence[object] | Mapping[str, object]

__all__ = ["Connections", "Link"]

_OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables
# SQLite's own waiting grows to 100 ms a nap, so a busy file can starve one of many writers.
_NAP_S = 0.001
_BATCH = 16  # rows taken at once, each with a value of up to a MiB
_CACHE_KIB = 8_192  # holds the upper levels of the indexes of a million entries

# Closing any descriptor of the file drops this process's locks on it, so none may be opened while
# another thread has just made the file and not yet closed it. The lock is held over a fork, so a
# child never starts with it taken.
_opening = threading.Lock()
_links: WeakSet[Link] = WeakSet()
# Connections of the parent process: kept, because closing them is the parent's business.
_inherited: list[Link] = []
_forking: list[Link] = []


def _before_fork() -> None:
    _opening.acquire()
    _forking.extend(_links)


def _after_fork_in_parent() -> None:
    _forking.clear()
    _opening.release()


def _after_fork_in_child() -> None:
    _inherited.extend(_forking)
    _forking.clear()
    _links.clear()
    _opening.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)


class Link:
    """One thread's way to the file.

    Args:
        owner: the connections it belongs to.
        main: the connection that writes and reads.
    """

    def __init__(self, owner: Connections, main: sqlite3.Connection) -> None:
        self.pid = os.getpid()
        self.lock = threading.RLock()  # held during each use, so that close() waits for it
        self.main = main
        self.relaxed: sqlite3.Connection | None = None
        self.identity = owner.file_identity()
        self.owner = owner
        self._writing = False
        self._turn: Turn

    def begin(self) -> None:
        """Take the file's write lock, waiting for it as long as the store allows."""
        self.lock.acquire()
        try:
            self._turn = self.owner.take_turn()
            try:
                self._see_that_file_is_there()
                self.owner.patiently(lambda: self.main.execute(BEGIN))
            except BaseException:
                self._turn.give()
                raise
        except BaseException:
            self.lock.release()
            raise
        self._writing = True

    def _see_that_file_is_there(self) -> None:
        """SQLite would go on writing to a file that no name leads to any more."""
        if self.owner.file_identity() != self.identity:
            self.close()
            raise StorageError(
                f"the memory file {self.owner.path} was moved away or replaced while it was open; "
                "nothing was changed: try again to use the file that is there now"
            )

    def run(self, statement: str, arguments: Arguments = ()) -> None:
        """Run a statement of the transaction."""
        try:
            self.main.execute(statement, arguments)
        except sqlite3.Error as error:
            raise self.owner.failure(error) from error

    def one(self, statement: str, arguments: Arguments = ()) -> tuple[Any, ...] | None:
        """The first row of a statement of the transaction."""
        try:
            row: tuple[Any, ...] | None = self.main.execute(statement, arguments).fetchone()
        except sqlite3.Error as error:
            raise self.owner.failure(error) from error
        return row

    def each(self, statement: str, arguments: Arguments) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement of the transaction, one at a time."""
        try:
            yield from self.main.execute(statement, arguments)
        except sqlite3.Error as error:
            raise self.owner.failure(error) from error

    def commit(self) -> None:
        """Make the transaction's changes durable."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Undo what was not committed, and let the next one write."""
        if not self._writing:
            return
        self._writing = False
        try:
            if self.main.in_transaction:
                self.main.execute("ROLLBACK")
        except sqlite3.Error:
            # Whatever state it is in, closing the connection ends the transaction.
            self.close()
        finally:
            self._turn.give()
            self.lock.release()

    def close(self) -> None:
        """Close the connections of this thread; its next call opens new ones."""
        with self.lock:
            self.pid = -1
            for connection in (self.main, self.relaxed):
                if connection is not None:
                    connection.close()
            self.relaxed = None

    def __del__(self) -> None:
        if self.pid == os.getpid():
            self.close()


class Connections:
    """All links of one store.

    Args:
        path: the file, absolute.
        durable: whether a commit waits for the disk.
        busy_timeout_ms: how long to wait for another process's lock.
        files: the file operations.
        factory: the class of the connections.
    """

    def __init__(
        self,
        path: str,
        *,
        durable: bool,
        busy_timeout_ms: int,
        files: FileSystem,
        factory: type[sqlite3.Connection],
    ) -> None:
        self.path = path
        self._durable = durable
        self._busy_timeout_ms = busy_timeout_ms
        self._files = files
        self._factory = factory
        self._local = threading.local()
        self._closed = False

    def failure(self, error: sqlite3.Error) -> StorageError:
        """What an error of SQLite means."""
        if self._closed:
            return self._closed_error()
        return storage_error(error, self.path, self._busy_timeout_ms)

    def _closed_error(self) -> StorageError:
        return StorageError(f"the memory file {self.path} is closed; open it again")

    def patiently(self, call: Callable[[], _T]) -> _T:
        """Call, again and again while the file is locked and the time is not over.

        Raises:
            StorageError: it failed, or stayed locked.
        """
        deadline = time.monotonic() + self._busy_timeout_ms / 1000
        while True:
            try:
                return call()
            except sqlite3.Error as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise self.failure(error) from error
            time.sleep(_NAP_S)

    def take_turn(self) -> Turn:
        """Wait until no other thread of this process writes to the file.

        Raises:
            StorageError: one kept it for too long.
        """
        turn = turn_of(self.path)
        if not turn.take(self._busy_timeout_ms / 1000):
            raise StorageError(
                f"the memory file {self.path} is locked: another thread of this program kept it "
                f"for the {self._busy_timeout_ms / 1000:g} s that we waited; try again"
            )
        return turn

    # ---- one statement, outside a transaction

    def fetch_one(self, statement: str, arguments: Arguments) -> tuple[Any, ...] | None:
        """The first row of one statement."""
        link = self._link()
        with link.lock:
            try:
                row: tuple[Any, ...] | None = link.main.execute(statement, arguments).fetchone()
            except sqlite3.Error:
                row = self.patiently(lambda: link.main.execute(statement, arguments).fetchone())
        return row

    def fetch_each(self, statement: str, arguments: Arguments) -> Iterator[tuple[Any, ...]]:
        """The rows of one statement, a few at a time, all of the same moment."""
        link = self._link()
        with link.lock:
            cursor = self.patiently(lambda: link.main.execute(statement, arguments))
        while True:
            with link.lock:
                try:
                    rows = cursor.fetchmany(_BATCH)
                except sqlite3.Error as error:
                    raise self.failure(error) from error
            if not rows:
                return
            yield from rows

    def run_relaxed(self, statement: str, arguments: Arguments) -> None:
        """Make a change that survives the end of the process, but need not wait for the disk."""
        link = self._link()
        with link.lock:
            connection = link.main
            if self._durable:
                if link.relaxed is None:
                    link.relaxed = self._connect(durable=False)
                connection = link.relaxed
            turn = self.take_turn()
            try:
                self.patiently(lambda: connection.execute(statement, arguments))
            finally:
                turn.give()

    def checkpoint(self) -> bool:
        """Move the write-ahead log into the file and empty it, unless somebody is using it.

        Returns:
            Whether it is empty now; if not, a later checkpoint does it, or the last close.
        """
        link = self._link()
        with link.lock:
            try:
                row = link.main.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error:
                return False
        return row is not None and row[0] == 0

    def snapshot(self) -> sqlite3.Connection:
        """A connection of its own that reads the file as it is at this moment, to be closed."""
        if self._closed:
            raise self._closed_error()
        connection = self._connect(durable=False)
        try:
            self.patiently(lambda: connection.execute("BEGIN"))
            # The moment is that of the first read.
            self.patiently(lambda: connection.execute(META).fetchone())
        except BaseException:
            connection.close()
            raise
        return connection

    def begin(self) -> Link:
        """This thread's link, holding the file's write lock."""
        link = self._link()
        link.begin()
        return link

    # ---- opening and closing

    def file_identity(self) -> tuple[int, int] | None:
        """Which file the path names now; None when it names none."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _link(self) -> Link:
        link: Link | None = getattr(self._local, "link", None)
        if link is None or link.pid != os.getpid():
            return self._open()
        return link

    def _open(self) -> Link:
        if self._closed:
            raise self._closed_error()
        link = Link(self, self._connect(durable=self._durable))
        with _opening:
            _links.add(link)
        self._local.link = link
        return link

    def _connect(self, *, durable: bool) -> sqlite3.Connection:
        if tuple(map(int, sqlite3.sqlite_version.split("."))) < _OLDEST_SQLITE:
            raise StorageError(
                f"this Python has SQLite {sqlite3.sqlite_version}; the memory needs 3.37 or newer"
            )
        try:
            with _opening:
                connection = self._dial()
        except OSError as error:
            raise self._refused(error) from error
        except sqlite3.Error as error:
            raise self.failure(error) from error
        try:
            self.patiently(lambda: self._prepare(connection, durable=durable))
        except BaseException:
            connection.close()
            raise
        return connection

    def _dial(self) -> sqlite3.Connection:
        self._make_private()
        return sqlite3.connect(
            self.path,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            factory=self._factory,
        )

    def _make_private(self) -> None:
        """See that the file and its companions are there for their owner only."""
        self._files.make_private_dir(os.path.dirname(self.path))
        self._files.create_private(self.path)
        for suffix in ("", "-wal", "-shm"):
            self._files.make_private(self.path + suffix)

    def _refused(self, error: OSError) -> StorageError:
        path = error.filename or self.path
        if error.errno == errno.ELOOP:
            return StorageError(
                f"{path} is a symbolic link; the memory is not kept behind links: "
                "put the file itself there"
            )
        from rotifer_engine._remedy import remedy_of

        return StorageError(
            f"the memory file {self.path} cannot be opened: {path}: {error.strerror or error}; "
            f"{remedy_of(error)}"
        )

    def _demand_log(self, connection: sqlite3.Connection) -> None:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode != "wal":
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise StorageError(
                    f"the memory file {self.path} needs a write-ahead log, but its disk or its "
                    f"file allows only the journal mode {mode!r}; use a local disk"
                )

    def _prepare(self, connection: sqlite3.Connection, *, durable: bool) -> None:
        self._demand_log(connection)
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        see_to_schema(connection, self.path)

    def close(self) -> None:
        """Close the connections of all threads, waiting for calls that are under way."""
        self._closed = True
        with _opening:
            links = [link for link in _links if link.owner is self]
        for link in links:
            link.close()
