"""Which gene ``agent run`` is going to run first, and what it may touch (design §5a).

Its process is started before the record can be read the proper way, and what it may touch is fixed
from then on. So the record is looked at here, quickly and without judging it; whoever has read it
properly compares, and starts another process where this one is not the right one.
"""

from __future__ import annotations

import os

from rotifer_bridge._grants import Fence, fence_of, parse_grants

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["foreseen"]

_COMPILED = "gene.ir.wasm"
_MOST = 4 * 1024 * 1024
_MOST_RECORDS = 2_000  # of so many a head start takes longer than it saves


def foreseen(root: str, words: list[str]) -> Fence | None:
    """What the first gene of the agent named on a command line may touch.

    None if that is unclear, or if the gene runs in no process.

    Args:
        root: the project's folder.
        words: what stands behind ``agent run``.
    """
    # Grants of this very command, a debugger, another engine: read by the real parser.
    if any(word.startswith(("--allow-", "--inspect")) for word in words):
        return None
    names = [word for word in words if not word.startswith("-")]
    record = _record(os.path.join(root, ".rotifer", "agents"), names)
    config = _object(os.path.join(root, "rotifer.json"))
    if record is None or config is None:
        return None
    genome, folder = record.get("genome"), config.get("genes_dir", "genes")
    if not (isinstance(genome, list) and genome and isinstance(folder, str)):
        return None
    gene = genome[0]
    if not isinstance(gene, str) or "/" in gene or gene.startswith("."):
        return None
    genes_dir = os.path.normpath(os.path.join(root, folder))
    # A compiled gene (`_gene.COMPILED`) has no use for a process, unless its source is asked for.
    if "--no-sandbox" not in words and os.path.lexists(os.path.join(genes_dir, gene, _COMPILED)):
        return None
    return fence_of(root, genes_dir, gene, parse_grants(record.get("grants")))


def _record(agents_dir: str, names: list[str]) -> dict[str, Any] | None:
    """The record whose name is one of the words."""
    files = sorted(name for name in os.listdir(agents_dir) if name.endswith(".json"))
    wanted = [name.encode(errors="replace") for name in names]
    for file in files[:_MOST_RECORDS]:
        path = os.path.join(agents_dir, file)
        data = _text(path)
        if data is None or not any(name in data for name in wanted):
            continue
        found = _parsed(data)
        if found is not None and found.get("name") in names:
            return found
    return None


def _object(path: str) -> dict[str, Any] | None:
    data = _text(path)
    return None if data is None else _parsed(data)


def _text(path: str) -> bytes | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
        try:
            return os.read(fd, _MOST)
        finally:
            os.close(fd)
    except OSError:
        return None


class _Context:
    """What the scanner of `json` asks its decoder for; `json` itself takes 3 ms to import."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = str


def _parsed(data: bytes) -> dict[str, Any] | None:
    from _json import make_scanner

    try:
        text = data.decode().removeprefix("\ufeff").lstrip()
        value, _ = make_scanner(_Context())(text, 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError, SystemError):  # 3.11, without `json`
        return None
    return value if isinstance(value, dict) else None
