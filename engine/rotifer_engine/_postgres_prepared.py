"""One prepared statement, asked by the driver's own libpq calls and without its cursor.

A cursor takes more than half as long for a read as the server does: it turns the statement over
once more at each call, and looks for what it has prepared. What is asked at every read is prepared
once here, and its one row is loaded by the driver's loaders. Everything else goes by cursors.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from rotifer_engine._postgres_errors import Silent

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

__all__ = ["Prepared"]

_UNKNOWN_STATEMENT = "26000"
_BINARY = pq.Format.BINARY


class Prepared:
    """A statement that gives one row or none, on one connection outside any transaction.

    Args:
        connection: in autocommit mode.
        name: what it is called on the server; no other statement of the connection has it.
        text: the statement, its placeholders numbered and with their types.
        answer_s: how long to wait for an answer, in seconds.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], name: str, text: str, answer_s: float
    ) -> None:
        self._connection = connection
        self._raw: PGconn = connection.pgconn
        self._name, self._text = name.encode("ascii"), text.encode()
        self._answer_s = answer_s
        self._formats: list[int] | None = None
        self._loader = Transformer(connection)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._raw.socket, select.POLLIN)
        self._writable.register(self._raw.socket, select.POLLOUT)

    def one(self, arguments: Sequence[bytes | None]) -> tuple[Any, ...] | None:
        """The first row.

        Args:
            arguments: in the server's binary form.

        Raises:
            psycopg.Error: it failed, or the server did not answer in time.
        """
        if self._formats is None:
            self._prepare(len(arguments))
        result = self._ask(arguments)
        if result.status != pq.ExecStatus.TUPLES_OK:
            error = error_from_result(result)
            if error.sqlstate != _UNKNOWN_STATEMENT:
                raise error
            # The driver gives up all that is prepared when something was rolled back.
            self._prepare(len(arguments))
            result = self._ask(arguments)
            if result.status != pq.ExecStatus.TUPLES_OK:
                raise error_from_result(result)
        if not result.ntuples:
            return None
        self._loader.set_pgresult(result)
        return self._loader.load_row(0, tuple)

    def _prepare(self, count: int) -> None:
        self._formats = [_BINARY] * count
        self._raw.send_prepare(self._name, self._text)
        result = self._answer()
        if result.status != pq.ExecStatus.COMMAND_OK:
            self._formats = None
            raise error_from_result(result)

    def _ask(self, arguments: Sequence[bytes | None]) -> PGresult:
        self._raw.send_query_prepared(self._name, arguments, self._formats, result_format=_BINARY)
        return self._answer()

    def _answer(self) -> PGresult:
        raw = self._raw
        deadline = time.monotonic() + self._answer_s
        while raw.flush():
            self._wait(self._writable, deadline)
        while raw.is_busy():
            self._wait(self._readable, deadline)
            raw.consume_input()
        result = raw.get_result()
        while raw.get_result() is not None:  # there is nothing behind it, which must be read too
            pass
        if result is None:
            raise psycopg.OperationalError("the connection ended without an answer")
        return result

    def _wait(self, event: select.poll, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not event.poll(left * 1000):
            # Closed here, before anybody tries to end a transaction in good order.
            self._raw.finish()
            raise Silent(f"waited {self._answer_s:g} s")
