"""The project's cache folder: files that cost time to make and are believed when they are read.

What is kept here will run. So a file is believed only if it is a plain file of ours that nobody
else can read or write, in a folder that is no symbolic link. A cache that cannot be read or written
costs time and is no error.
"""

from __future__ import annotations

import os
import stat
import time

__all__ = ["MAX_BYTES", "MODULE", "READY", "keep", "kept"]

READY = ".ready"
"""Sources made ready for Node (`_transform_cache`)."""
MODULE = ".module"
"""WASM modules made ready for wasmtime (`_wasm_cache`)."""
_ASIDE = ".tmp"
_ASIDE_NS = 3_600 * 10**9  # no writer takes so long: whoever left it was killed
MAX_BYTES = 64 * 1024 * 1024
"""What the whole cache may take on the disk."""


def kept(cache_dir: str, name: str) -> bytes | None:
    """Give a file's bytes; None when there is nothing that can be believed."""
    try:
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Not to be blocked by a FIFO in its place either.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=folder)
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
            or status.st_size > MAX_BYTES
        ):
            return None
        with open(fd, "rb", buffering=0, closefd=False) as file:
            # No more than is there: room for all that is asked for is made before it is read.
            return file.read(status.st_size)
    except OSError:
        return None
    finally:
        os.close(fd)


def keep(cache_dir: str, name: str, data: bytes) -> None:
    """Keep a file: written aside, then put in its place in one step."""
    try:
        os.makedirs(cache_dir, mode=0o700, exist_ok=True)
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _put(folder, name, data)
        _prune(folder)
    except OSError:
        return
    finally:
        os.close(folder)


def _put(folder: int, name: str, data: bytes) -> None:
    # Random, for two threads may write the same file at once.
    aside = f"{name[:16]}-{os.urandom(8).hex()}{_ASIDE}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(aside, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(aside, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    """Remove what crashed writers left, and the oldest files until the rest fits."""
    found: list[tuple[int, int, str]] = []
    long_ago = time.time_ns() - _ASIDE_NS
    for name in os.listdir(folder):
        if name.endswith((READY, MODULE, _ASIDE)):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if name.endswith(_ASIDE) and status.st_mtime_ns < long_ago:
                os.unlink(name, dir_fd=folder)
                continue
            found.append((status.st_mtime_ns, status.st_size, name))
    total = sum(size for _, size, _ in found)
    for _, size, name in sorted(found):
        if total <= MAX_BYTES:
            break
        os.unlink(name, dir_fd=folder)
        total -= size
