r"""What genes, agents, domains and versions may be called (projects §2).

A gene's name is the name of its folder, so the rule is also what keeps a genome inside the
project. Agents that we create follow the gene rule **[ours]**; on reading a record made elsewhere
any name that stays in its folder and can be shown is good enough.
"""

from __future__ import annotations

from collections.abc import Iterable

from rotifer_bridge._json import kind_of
from rotifer_bridge.errors import GeneError, RotiferError, UsageError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import TypeVar

    _E = TypeVar("_E", bound=RotiferError)

__all__ = [
    "NAME_LIMIT",
    "check_agent_name",
    "check_domain",
    "check_gene_name",
    "check_version",
    "did_you_mean",
    "is_safe_agent_name",
    "last_part",
    "shown",
    "typed",
]

NAME_LIMIT = 100

_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz" + _DIGITS

_NAME_HELP = (
    f"use 1 to {NAME_LIMIT} of a-z, 0-9, '.', '_' and '-', "
    "starting and ending with a letter or digit, without '..' (for example: text-format)"
)
_DOMAIN_HELP = (
    "use lower-case letters and digits in parts joined by dots (for example: code.format)"
)
_VERSION_HELP = "use three numbers and an optional suffix (for example: 1.0.0 or 0.1.0-beta.1)"


def _made_of(text: str, letters: str) -> bool:
    """Whether it is these letters and no others, and not empty."""
    return text != "" and not text.strip(letters)


def _is_name(text: str) -> bool:
    return _made_of(text, _LOWER + "._-") and text[0] in _LOWER and text[-1] in _LOWER


def _is_domain(text: str) -> bool:
    return all(_made_of(part, _LOWER) for part in text.split("."))


def _is_version(text: str) -> bool:
    numbers, dash, suffix = text.partition("-")
    parts = numbers.split(".")
    return (
        len(parts) == 3
        and all(_made_of(part, _DIGITS) for part in parts)
        and (not dash or _made_of(suffix, _LOWER + _LOWER.upper() + "."))
    )


def shown(value: object) -> str:
    """A name as it may stand in a message: quoted, escaped, not longer than a line."""
    if not isinstance(value, str):
        return kind_of(value)
    quoted = f"'{value}'" if value.isprintable() else ascii(value)
    return quoted if len(quoted) <= 120 else quoted[:110] + "…'"


def typed(name: str, instead: str = "NAME") -> str:
    """A name as it may stand in a command that somebody copies; a stand-in if it may not."""
    return name if _is_name(name) and len(name) <= NAME_LIMIT else instead


def last_part(path: str) -> str | None:
    """The gene's name, where a path to its folder was given in the place of it."""
    name = path.rstrip("/").rpartition("/")[2]
    return name if "/" in path and _is_name(name) and ".." not in path else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A question with the name that was probably meant, if one of these is near."""
    from difflib import get_close_matches  # only where something is refused already

    near = get_close_matches(name, known, n=1)
    return f"did you mean {shown(near[0])}?" if near else None


def check_gene_name(name: object, *, code: str | None = None, where: str | None = None) -> str:
    """The name itself, if a gene may have it.

    Raises:
        GeneError: it may not; the message says what is allowed.
    """
    return _check_name(name, "gene", GeneError, code, where)


def check_agent_name(name: object) -> str:
    """The name itself, if a new agent may have it.

    Raises:
        UsageError: it may not; the message says what is allowed.
    """
    return _check_name(name, "agent", UsageError, None, None)


def check_domain(domain: object, *, code: str | None = None, where: str | None = None) -> str:
    """The domain itself, if it is one.

    Raises:
        GeneError: it is not; the message says what is allowed.
    """
    if isinstance(domain, str) and _is_domain(domain):
        return domain
    raise GeneError(f"{shown(domain)} is not a domain", code=code, where=where, help=_DOMAIN_HELP)


def check_version(version: object, *, code: str | None = None, where: str | None = None) -> str:
    """The version itself, if it is one.

    Raises:
        GeneError: it is not; the message says what is allowed.
    """
    if isinstance(version, str) and _is_version(version):
        return version
    raise GeneError(
        f"{shown(version)} is not a version", code=code, where=where, help=_VERSION_HELP
    )


def is_safe_agent_name(name: object) -> bool:
    """Whether a record's agent name stays in its folder and on its line."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= NAME_LIMIT
        and name.isprintable()
        and not name.startswith((".", "-", " "))
        and ".." not in name
        and not any(letter in name for letter in "/\\:")
    )


def _check_name(
    name: object, kind: str, error: type[_E], code: str | None, where: str | None
) -> str:
    if not isinstance(name, str) or not name:
        message = f"{kind} name is empty" if name == "" else f"{shown(name)} is not a {kind} name"
    elif len(name) > NAME_LIMIT:
        message = f"{kind} name is {len(name):,} characters; the limit is {NAME_LIMIT}"
    elif not _is_name(name) or ".." in name:
        message = f"{shown(name)} is not a {kind} name"
    else:
        return name
    article = "an" if kind == "agent" else "a"
    raise error(
        message.replace(f"a {kind}", f"{article} {kind}"), code=code, where=where, help=_NAME_HELP
    )
