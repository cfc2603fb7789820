"""Bearer tokens of the HTTP service: made, kept as hashes, looked up, revoked (layers §6).

A token is ``rtk_<id>_<secret>``. The secret is 256 bits from the operating system, so one SHA-256
is enough to keep it by: there is no dictionary of such secrets that a slow hash would have to hold
off, and a slow one would let anybody who knocks keep the service busy. Only the hash is on disk.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from hashlib import sha256
from hmac import compare_digest
from typing import Any, NamedTuple

from rotifer_bridge._files import lock_folder, read_regular, write_atomic
from rotifer_bridge._json import NotJSON, dump_pretty, parse_json
from rotifer_bridge._names import shown
from rotifer_bridge.errors import ProjectError, UsageError
from rotifer_engine import AgentMemoryError, format_time, parse_time, remedy_of

__all__ = ["KINDS", "TOKENS_NAME", "Expired", "Token", "TokenFile", "parse_lifetime"]

TOKENS_NAME = "tokens.json"
"""What the project's tokens file is called, in ``.rotifer``."""

# What a token is bound to, by its kind: the one list of kinds.
KINDS: dict[str, tuple[str, ...]] = {
    "actor": ("actor", "inside"),
    "gene": ("gene", "agentId", "agent", "domain"),
    "deployer": (),
    "admin": (),
}

_MAY_BE_NONE = frozenset({"inside", "domain"})
FILE_LIMIT = 4 * 1024 * 1024
TOKENS_LIMIT = 5_000  # [ours] keeps the file under its limit, and looking it up quick
LIFETIME_LIMIT_DAYS = 3_650  # [ours]

_VERSION = 1
_DAY_MS = 86_400_000
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": _DAY_MS}
_TEXT = re.compile(r"rtk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_ID = re.compile(r"[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NOBODY = "0" * 64  # compared with where there is no such id, so that both take the same time
_REMEDY = "correct the file by hand, or move it away and create the tokens anew"


class Token(NamedTuple):
    """One token, without its secret.

    Args:
        id: 12 hex digits; names it in ``token list`` and ``token revoke``.
        kind: one of `KINDS`.
        bound: what it is bound to, the fields of its kind.
        digest: SHA-256 of the whole token, in hex.
        created_at: milliseconds since 1970.
        expires_at: the instant from which on it is refused; None: never.
    """

    id: str
    kind: str
    bound: dict[str, str | None]
    digest: str
    created_at: int
    expires_at: int | None

    def to_json(self) -> dict[str, Any]:
        """What `token list --json` shows of it: everything but the hash."""
        return {
            "id": self.id,
            "kind": self.kind,
            **self.bound,
            "createdAt": format_time(self.created_at),
            "expiresAt": None if self.expires_at is None else format_time(self.expires_at),
        }


class Expired(Exception):
    """The token was a good one, and its time is over."""


class TokenFile:
    """A file of tokens, shared by the commands that change it and the service that reads it.

    Args:
        path: the file; it need not be there yet.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock = threading.Lock()
        self._seen: object = None
        self._tokens: dict[str, Token] = {}

    def tokens(self) -> dict[str, Token]:
        """Every token by its id, read anew when the file has changed.

        Raises:
            ProjectError: the file is a link, may be written by others, or is damaged.
        """
        try:
            status = os.lstat(self.path)
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise ProjectError(
                f"cannot read the tokens: {error.strerror}",
                where=self.path,
                help=remedy_of(error),
            ) from None
        # Each change is a new file, so its inode tells, whatever the clock's resolution.
        seen = status and (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
        with self._lock:
            if seen is None:
                self._seen, self._tokens = None, {}
            elif seen != self._seen:
                self._tokens = _read(self.path)
                self._seen = seen
            return self._tokens

    def find(self, text: str, now_ms: int) -> Token | None:
        """The token that this text is; None when it is none, or one that was revoked.

        The hashes are compared in constant time, also where there is no such id.

        Args:
            text: the whole token, as it came.
            now_ms: milliseconds since 1970.

        Raises:
            Expired: it is one, and its time is over.
            ProjectError: the file cannot be read.
        """
        form = _TEXT.fullmatch(text)
        token = self.tokens().get(form[1]) if form else None
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()
        same = compare_digest(digest, token.digest if token else _NOBODY)
        if token is None or not same:
            return None
        if token.expires_at is not None and now_ms >= token.expires_at:
            raise Expired
        return token

    def create(
        self, kind: str, bound: dict[str, str | None], *, now_ms: int, lifetime_ms: int | None
    ) -> tuple[Token, str]:
        """Make a token and keep its hash; the token, and its text, which is nowhere else.

        Raises:
            UsageError: there are too many.
            ProjectError: the file cannot be read or written; no token was made.
        """
        text_id = secrets.token_hex(6)
        text = f"rtk_{text_id}_{secrets.token_urlsafe(32)}"
        token = Token(
            text_id,
            kind,
            {field: bound.get(field) for field in KINDS[kind]},
            sha256(text.encode()).hexdigest(),
            now_ms,
            None if lifetime_ms is None else now_ms + lifetime_ms,
        )
        with lock_folder(os.path.dirname(self.path)):
            tokens = dict(self.tokens())
            if len(tokens) >= TOKENS_LIMIT:
                raise UsageError(
                    f"there are {len(tokens):,} tokens; the limit is {TOKENS_LIMIT:,}",
                    help="revoke those that nobody uses: rotifer token revoke ID",
                )
            self._write({**tokens, token.id: token})
        return token, text

    def revoke(self, token_id: str) -> Token:
        """Take a token out of the file; whoever holds it is refused from here on.

        Raises:
            UsageError: there is no such token.
            ProjectError: the file cannot be read or written; the token is still good.
        """
        with lock_folder(os.path.dirname(self.path)):
            tokens = dict(self.tokens())
            token = tokens.pop(token_id, None)
            if token is None:
                whole = _TEXT.fullmatch(token_id)
                raise UsageError(
                    "this is a whole token, not the id of one"  # a secret stands in no message
                    if whole
                    else f"there is no token with the id {shown(token_id)}",
                    help=f"its id is {whole[1]}"
                    if whole
                    else "'rotifer token list' lists the ids there are",
                )
            self._write(tokens)
        return token

    def _write(self, tokens: dict[str, Token]) -> None:
        listed = [{**token.to_json(), "sha256": token.digest} for token in tokens.values()]
        write_atomic(self.path, dump_pretty({"version": _VERSION, "tokens": listed}))


def parse_lifetime(text: str) -> int:
    """Milliseconds of a lifetime such as ``30d``, ``12h``, ``90m`` or ``45s``.

    Raises:
        UsageError: it is none, or not from 1 s to 3,650 days.
    """
    number, unit = text[:-1], text[-1:]
    if number.isdecimal() and number.isascii() and len(number) <= 10 and unit in _UNITS_MS:
        lifetime = int(number) * _UNITS_MS[unit]
        if 0 < lifetime <= LIFETIME_LIMIT_DAYS * _DAY_MS:
            return lifetime
    raise UsageError(
        f"--expires is {shown(text)}; it takes a whole number with s, m, h or d, from 1s to "
        f"{LIFETIME_LIMIT_DAYS:,}d",
        help="for example: --expires 30d",
    )


def _read(path: str) -> dict[str, Token]:
    try:
        data = read_regular(path, FILE_LIMIT)
        # Hashes may be read by others without harm. Whoever writes here lets in whom they like.
        if os.lstat(path).st_mode & 0o022:
            raise ProjectError(
                "the tokens file may be written by others than its owner",
                where=path,
                help="look through it with 'rotifer token list', after chmod 600",
            )
        document = parse_json(data)
    except FileNotFoundError:
        return {}
    except NotJSON as error:
        raise ProjectError(f"the tokens file {error.told}", where=path, help=_REMEDY) from None
    listed = document.get("tokens") if isinstance(document, dict) else None
    if not isinstance(listed, list) or document.get("version") != _VERSION:
        raise ProjectError("this is not a tokens file of version 1", where=path, help=_REMEDY)
    tokens = [_parse(fields, number, path) for number, fields in enumerate(listed, 1)]
    return {token.id: token for token in tokens}


def _parse(fields: object, number: int, path: str) -> Token:
    """One token of the file: nothing that is not understood lets anybody in."""
    try:
        if isinstance(fields, dict) and _sound(fields):
            expires = fields["expiresAt"]
            return Token(
                fields["id"],
                fields["kind"],
                {field: fields[field] for field in KINDS[fields["kind"]]},
                fields["sha256"],
                parse_time(fields["createdAt"]),
                None if expires is None else parse_time(expires),
            )
    except (KeyError, TypeError, AgentMemoryError):
        pass
    raise ProjectError(f"token {number:,} of the tokens file is damaged", where=path, help=_REMEDY)


def _sound(fields: dict[str, Any]) -> bool:
    """Whether the id, the hash and what the token is bound to are what they should be."""
    return (
        _ID.fullmatch(fields["id"]) is not None
        and _DIGEST.fullmatch(fields["sha256"]) is not None
        and all(
            isinstance(fields[field], str) or (field in _MAY_BE_NONE and fields[field] is None)
            for field in KINDS[fields["kind"]]
        )
    )
