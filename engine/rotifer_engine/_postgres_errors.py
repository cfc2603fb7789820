"""What PostgreSQL's failures mean to the person who reads about them.

They are told apart by SQLSTATE, never by their text. Of the server's own words only the first line
is given: the others can quote rows, and so values.
"""

from __future__ import annotations

import psycopg

from rotifer_engine._postgres_address import Address
from rotifer_engine.errors import StorageError

__all__ = ["Silent", "ends_connection", "is_starting", "storage_error"]


class Silent(psycopg.OperationalError):
    """The server did not answer in time; what it did is not known."""


_NO_TABLES = (
    "has no tables for memories yet; make them with 'rotifer memory migrate' (and --url URL, where "
    "the project does not name this server)"
)

#: The beginning of an SQLSTATE, and what it says about the server; the longest one counts.
_MEANINGS = {
    "08": "is not connected any more ({detail}); nothing was changed: try again",
    "57P01": "ended the connection ({detail}); nothing was changed: try again",
    "57P02": "ended the connection ({detail}); nothing was changed: try again",
    "57P03": "is starting or stopping ({detail}); try again",
    "25P03": "ended the connection, because it was not used for too long; nothing was changed: "
    "try again",
    "55P03": "is locked: another writer kept this agent's memory for the {lock} s that we waited; "
    "let it finish, or end it, then try again",
    "57014": "took longer than the {statement} s that a statement may; nothing was changed: look "
    "at the server's load, then try again",
    "40": "could not make the change beside another one ({detail}); nothing was changed: try again",
    "42P01": _NO_TABLES,
    "3F000": _NO_TABLES,
    "42501": "does not allow this user to do it ({detail}); grant it the schema rotifer and its "
    "tables, or migrate as the user that runs the agents",
    "28": "does not let this user in ({detail}); check the user and the password of the URL",
    "3D000": "has no such database ({detail}); create it, or name another in the URL",
    "53100": "has no space left on its disk; make room, then try again",
    "53300": "has no connection left ({detail}); raise max_connections, or use fewer processes",
    "53": "is out of resources ({detail}); try again later",
    "25006": "can only be read ({detail}); name the server that can be written in the URL",
    "XX": "is damaged or failed inside ({detail}); it was left as it is: look at its log",
}


def ends_connection(error: psycopg.Error) -> bool:
    """Whether the connection is over with it, even where its end was not read yet.

    A server that shuts down says so after it has carried out what it was asked to: such an error
    tells nothing about a commit that was sent before it.
    """
    return not error.sqlstate or error.diag.severity_nonlocalized in {"FATAL", "PANIC"}


def is_starting(error: psycopg.Error) -> bool:
    """Whether nobody answers there now, but may soon: it is starting, or not yet listening."""
    return error.sqlstate in {None, "57P03"}


def storage_error(
    error: psycopg.Error, address: Address, *, lock_s: float, statement_s: float
) -> StorageError:
    """The error to raise for what the driver raised."""
    state = error.sqlstate or ""
    primary = error.diag.message_primary if state else str(error)
    detail = address.safe(" ".join((primary or type(error).__name__).split())) or "no details"
    server = f"the memory's server {address.place}"
    if isinstance(error, Silent):
        return StorageError(f"{server} gave no answer ({detail}); try again when it does")
    for length in (5, 2):
        meaning = _MEANINGS.get(state[:length])
        if meaning is not None:
            text = meaning.format(detail=detail, lock=f"{lock_s:g}", statement=f"{statement_s:g}")
            return StorageError(f"{server} {text}")
    if not state and "FATAL:" in detail:
        why = detail.partition("FATAL:")[2].strip()
        return StorageError(
            f"{server} does not let us in ({why}); check the user, the password and the database "
            "of the URL"
        )
    if not state:
        return StorageError(f"{server} cannot be reached ({detail}); is it running?")
    return StorageError(f"{server} failed ({state}: {detail})")
