"""File operations, handed in so that tests can fail any of them.

Everything under ``.rotifer`` is for its owner only, and nothing is written through a symbolic
link: a link put there by somebody else must not choose which file we write to.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

__all__ = ["FileSystem"]

_LOCK_POLL_S = 0.001
_CAREFUL = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a link, a child, a pipe without an end


class FileSystem:
    """The real files. Tests subclass it to fail the Nth operation, or to stop the process in it."""

    def make_private_dir(self, path: str) -> None:
        """Make a folder with mode 0700 if it is not there; its parents must be."""
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        else:
            self.sync_dir(os.path.dirname(path) or ".")

    def open_private(self, path: str, *, create: bool = True) -> int:
        """Open a regular file for reading and appending, with mode 0600 if it is made.

        Returns:
            A descriptor that is not inherited.

        Raises:
            OSError: among others when the path is a symbolic link or no regular file.
        """
        flags = os.O_RDWR | os.O_APPEND | _CAREFUL
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            if not create:
                raise
            fd = os.open(path, flags | os.O_CREAT, 0o600)
            self.sync_dir(os.path.dirname(path) or ".")
        return _regular(fd, path)

    def open_to_read(self, path: str) -> int:
        """Open a regular file that is there: whoever may read it need not be allowed to write.

        Returns:
            A descriptor that is not inherited.

        Raises:
            OSError: among others when the path is a symbolic link or no regular file.
        """
        return _regular(os.open(path, os.O_RDONLY | _CAREFUL), path, private=False)

    def create_private(self, path: str) -> bool:
        """Make an empty file with mode 0600 if there is none; say whether it was made."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError:
            return False
        os.close(fd)
        self.sync_dir(os.path.dirname(path) or ".")
        return True

    def make_private(self, path: str) -> None:
        """Take an existing file of our own away from group and others.

        Raises:
            OSError: the path is a symbolic link or no regular file.
        """
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "a symbolic link", path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(path, stat.S_IMODE(status.st_mode) & 0o700)

    def same_file(self, fd: int, path: str) -> bool:
        """Whether the path still names the open file: not so after somebody rotated it."""
        try:
            named = os.lstat(path)
        except FileNotFoundError:
            return False
        opened = os.fstat(fd)
        return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)

    def size(self, fd: int) -> int:
        """Bytes in the open file."""
        return os.fstat(fd).st_size

    def read_at(self, fd: int, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``offset``."""
        return os.pread(fd, size, offset)

    def append(self, fd: int, data: bytes) -> None:
        """Write all bytes at the end of the file."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def cut(self, fd: int, size: int) -> None:
        """Take off what stands behind the first ``size`` bytes."""
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        """Return when the file's contents are on the disk."""
        os.fdatasync(fd)

    def sync_dir(self, path: str) -> None:
        """Return when the folder's list of names is on the disk."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, fd: int, timeout_ms: int) -> None:
        """Lock the open file against every other process that asks.

        Raises:
            TimeoutError: somebody else kept it locked for so long.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise TimeoutError(
                        errno.ETIMEDOUT, f"locked by another process for {timeout_ms:,} ms"
                    ) from None
                time.sleep(_LOCK_POLL_S)
            else:
                return

    def unlock(self, fd: int) -> None:
        """Give the lock back."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)

    def write_atomic(self, path: str, data: bytes) -> None:
        """Replace a file's contents as a whole, mode 0600: a reader sees the old or the new."""
        temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            try:
                self.append(fd, data)
                self.sync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        self.sync_dir(os.path.dirname(path) or ".")


def _regular(fd: int, path: str, *, private: bool = True) -> int:
    """The descriptor, if it is one of a regular file; if that is ours, others are shut out."""
    try:
        _demand_regular(fd, path, private=private)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _demand_regular(fd: int, path: str, *, private: bool) -> None:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    if private and status.st_mode & 0o077 and status.st_uid == os.geteuid():
        os.fchmod(fd, stat.S_IMODE(status.st_mode) & 0o700)
