"""The cache of what became of a gene's sources: one file an outcome (design §4).

A file holds a line of JSON, then the sources, one after the other. It is code that will run, so it
is believed only if it is a plain file of ours that nobody else can write, and whole. A cache that
cannot be read or written costs time and is no error.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import NamedTuple

__all__ = ["Outcome", "load", "store"]

_SUFFIX = ".ready"
_ASIDE = ".tmp"
MAX_BYTES = 64 * 1024 * 1024
"""What the whole cache may take on the disk."""


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
    try:
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Not to be blocked by a FIFO in its place either.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(key + _SUFFIX, flags, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        status = os.fstat(fd)
        if (
            not stat.S_ISREG(status.st_mode)
            or stat.S_IMODE(status.st_mode) != 0o600
            or status.st_uid != os.geteuid()
        ):
            return None
        with open(fd, "rb", buffering=0, closefd=False) as file:
            data = file.read()
    except OSError:
        return None
    finally:
        os.close(fd)
    return _unpack(data, key)


def store(cache_dir: str, key: str, outcomes: list[Outcome]) -> None:
    """Keep an outcome under a key: written aside, then put in its place in one step."""
    try:
        os.makedirs(cache_dir, mode=0o700, exist_ok=True)
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _put(folder, key, _pack(key, outcomes))
        _prune(folder)
    except OSError:
        return
    finally:
        os.close(folder)


def _put(folder: int, key: str, data: bytes) -> None:
    # Random, for two threads may write the same outcome at once.
    aside = f"{key[:16]}-{os.urandom(8).hex()}{_ASIDE}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(aside, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(aside, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(aside, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    """Remove the oldest files, outcomes and what crashed writers left, until the rest fits."""
    found: list[tuple[int, int, str]] = []
    for name in os.listdir(folder):
        if name.endswith((_SUFFIX, _ASIDE)):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((status.st_mtime_ns, status.st_size, name))
    total = sum(size for _, size, _ in found)
    for _, size, name in sorted(found):
        if total <= MAX_BYTES:
            break
        os.unlink(name, dir_fd=folder)
        total -= size


def _pack(key: str, outcomes: list[Outcome]) -> bytes:
    body = b"".join(outcome.source or b"" for outcome in outcomes)
    files = [
        (path, form, None if source is None else len(source)) for path, form, source in outcomes
    ]
    head = {"key": key, "sha256": hashlib.sha256(body).hexdigest(), "files": files}
    return json.dumps(head).encode() + b"\n" + body


def _unpack(data: bytes, key: str) -> list[Outcome] | None:
    """Read a cache file; None for one that is torn, damaged or another's."""
    try:
        line, body = data.split(b"\n", 1)
        head = json.loads(line)
        if head["key"] != key or head["sha256"] != hashlib.sha256(body).hexdigest():
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
