"""Where a PostgreSQL server is, as a URL says it, and how to speak of it without its password.

The driver's own words about a URL that it cannot read quote parts of it, and where a password was
not percent-encoded those parts can be the password's. So a URL is judged here first, and nothing
of it is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from rotifer_engine.errors import StorageError

__all__ = ["SCHEMES", "Address", "is_postgres", "read_address"]

SCHEMES = ("postgresql://", "postgres://")

_HOST = re.compile(r"(?:[A-Za-z0-9._%-]*|\[[0-9A-Fa-f:.%A-Za-z]+\])(?::[0-9]*)?")
_SECRET = ("password", "sslpassword", "passfile", "sslkey")
_ENCODE = "percent-encode what is special in the user's name and the password (@ is %40, / is %2F)"


class Address(NamedTuple):
    """A server and a database on it.

    Args:
        place: host, port and database, for people.
        parameters: what the driver connects with; secrets too.
    """

    place: str
    parameters: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Address({self.place!r})"  # a text of it is this, too

    def safe(self, text: str) -> str:
        """A text of the driver's, or nothing of it where a secret stands in it."""
        secrets = filter(None, (self.parameters.get(name) for name in _SECRET))
        return "" if any(secret in text for secret in secrets) else text


def is_postgres(url: str) -> bool:
    """Whether the URL is one for PostgreSQL, whatever else is wrong with it."""
    return url.startswith(SCHEMES)


def read_address(url: str) -> Address:
    """What a URL says.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?...``, as libpq reads it.

    Raises:
        StorageError: it cannot be read; the message repeats nothing of it.
    """
    scheme = next((scheme for scheme in SCHEMES if url.startswith(scheme)), None)
    if scheme is None:
        raise _bad("it does not begin with postgresql://")
    if "\0" in url or not url.isprintable() or " " in url:
        raise _bad("it has a blank or a control character")
    authority, _, _ = re.split(r"[/?]", url[len(scheme) :], maxsplit=1)[0].partition("#")
    rest = url[len(scheme) + len(authority) :]
    if authority.count("@") > 1 or "@" in rest or "#" in rest:
        raise _bad(f"it has an @, a / or a # where none can be; {_ENCODE}")
    hosts = authority.rpartition("@")[2]
    if not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        raise _bad(f"its host or its port is none; {_ENCODE}")
    if not _percents_are_whole(url):
        raise _bad("a % in it is not followed by two hexadecimal digits; write %25 for a %")
    return _with_driver(url)


def _percents_are_whole(url: str) -> bool:
    return re.search(r"%(?![0-9A-Fa-f]{2})|%00", url) is None


def _with_driver(url: str) -> Address:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        found = conninfo_to_dict(url)
    except psycopg.Error:
        raise _bad(
            "it has a part that the driver does not know: look at what follows its ?"
        ) from None
    parameters = {name: str(value) for name, value in found.items() if value is not None}
    hosts = parameters.get("host") or parameters.get("hostaddr") or "the local socket"
    port = parameters.get("port")
    database = parameters.get("dbname") or parameters.get("user") or ""
    where = f"{unquote(hosts)}:{port}" if port else unquote(hosts)
    return Address(f"{where}/{database}", parameters)


def _bad(why: str) -> StorageError:
    return StorageError(
        f"the memory's URL cannot be used: {why}: "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE is its form"
    )
