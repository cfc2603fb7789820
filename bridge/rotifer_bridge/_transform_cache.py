"""The cache of what became of a gene's sources: one file an outcome (design §4).

A file holds a line of JSON, then the sources, one after the other. It is believed only if it is
whole; the folder sees to the rest (`_cache_folder`).
"""

from __future__ import annotations

from rotifer_bridge._cache_folder import READY, keep, kept
from rotifer_engine.quick import NamedTuple, dumps, loads, sha256

__all__ = ["Outcome", "load", "store"]


class Outcome(NamedTuple):
    """What became of a file.

    Attributes:
        path: relative to the gene's folder.
        format: as ``ReadyFile`` has it.
        source: UTF-8 text; None where the file runs as it is.
    """

    path: str
    format: str
    source: bytes | None


def load(cache_dir: str, key: str) -> list[Outcome] | None:
    """Give what was kept under a key; None when there is nothing that can be believed."""
    data = kept(cache_dir, key + READY)
    return None if data is None else _unpack(data, key)


def store(cache_dir: str, key: str, outcomes: list[Outcome]) -> None:
    """Keep an outcome under a key."""
    keep(cache_dir, key + READY, _pack(key, outcomes))


def _pack(key: str, outcomes: list[Outcome]) -> bytes:
    body = b"".join(outcome.source or b"" for outcome in outcomes)
    files = [
        (path, form, None if source is None else len(source)) for path, form, source in outcomes
    ]
    head = {"key": key, "sha256": sha256(body).hexdigest(), "files": files}
    return dumps(head).encode() + b"\n" + body


def _unpack(data: bytes, key: str) -> list[Outcome] | None:
    """Read a cache file; None for one that is torn, damaged or another's."""
    try:
        line, body = data.split(b"\n", 1)
        head = loads(line.decode())
        if head["key"] != key or head["sha256"] != sha256(body).hexdigest():
            return None
        outcomes: list[Outcome] = []
        start = 0
        for path, form, size in head["files"]:
            end = start if size is None else start + size
            outcomes.append(Outcome(path, form, None if size is None else body[start:end]))
            start = end
    except (ValueError, KeyError, TypeError):
        return None
    return outcomes
