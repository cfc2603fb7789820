"""A secret of this user's on this machine, which no project brings with it.

A project comes with its files, from an archive or a repository, and whoever made it may have put
anything into its cache. What is sealed with this secret was made here.
"""

from __future__ import annotations

import os
import stat

__all__ = ["user_secret"]

_SIZE = 32
_NAME = "cache.key"


def user_secret() -> bytes | None:
    """The secret, made by whoever comes first; None where there is no home to keep it in."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        return None
    folder = os.path.join(base, "rotifer")
    path = os.path.join(folder, _NAME)
    try:
        try:
            return _read(path)
        except FileNotFoundError:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _make(path)
            return _read(path)
    except OSError:
        return None


def _read(path: str) -> bytes | None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
        if not private or status.st_uid != os.geteuid() or status.st_size != _SIZE:
            return None
        return os.read(fd, _SIZE)
    finally:
        os.close(fd)


def _make(path: str) -> None:
    """Write it whole, and never over that of somebody who was faster."""
    aside = f"{path}.{os.urandom(8).hex()}.tmp"
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(fd, os.urandom(_SIZE))
        finally:
            os.close(fd)
        os.link(aside, path)
    except FileExistsError:
        return
    finally:
        os.unlink(aside)
