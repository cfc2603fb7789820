"""The bridge's file operations: whole or not at all, private, never through a planted link.

State lives in a folder that other programs may have touched, so nothing is followed that could
lead elsewhere (projects §1: a symbolic link in the place of one of these is refused).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rotifer_bridge.errors import ProjectError

__all__ = [
    "DRAFT_SECONDS",
    "TooManyFiles",
    "cannot",
    "clear_drafts",
    "list_folder",
    "lock_folder",
    "make_private_dir",
    "name_draft",
    "new_draft",
    "read_regular",
    "refuse_link",
    "write_atomic",
]

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
DRAFT_SECONDS = 3_600
"""How old a draft must be for its writer to have been killed [ours]: none takes so long."""
LOCK_TIMEOUT = 5.0  # seconds, as the database's
_UNNAMED: int = getattr(os, "O_TMPFILE", 0)
_OPEN_FILES = "/proc/self/fd"


class TooManyFiles(ProjectError):
    """This process, or the machine, has no descriptor left: nothing is known of the file."""


def refuse_link(path: str) -> None:
    """Raise when a symbolic link stands at ``path``; nothing there is fine."""
    if os.path.islink(path):
        raise ProjectError(
            "a symbolic link stands in the place of a private file or folder",
            where=path,
            help="remove the link, or move what it points to here",
        )


def make_private_dir(path: str) -> None:
    """Make the folder with mode 0700; an existing one is taken back from group and others."""
    try:
        os.mkdir(path, PRIVATE_DIR)
    except FileExistsError:
        refuse_link(path)
        mode = os.lstat(path).st_mode
        if not stat.S_ISDIR(mode):
            raise ProjectError("a file stands where a folder belongs", where=path) from None
        if mode & 0o077:
            os.chmod(path, PRIVATE_DIR)
    except OSError as error:
        raise cannot("make", path, error) from None


def list_folder(path: str) -> list[str]:
    """The names in a folder, sorted; none where there is no folder.

    Raises:
        ProjectError: it cannot be read.
    """
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise cannot("read", path, error) from None


def read_regular(path: str, limit: int | None = None) -> bytes:
    """The bytes of a regular file that is no symbolic link.

    Raises:
        FileNotFoundError: there is nothing at ``path``.
        ProjectError: it is a link, no regular file, longer than ``limit`` bytes, or unreadable.
    """
    # O_NONBLOCK: opening a FIFO must not wait for a writer.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise cannot("read", path, error) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise ProjectError("this is not a regular file", where=path)
    with open(fd, "rb") as file:
        if limit is not None and status.st_size > limit:
            raise ProjectError(
                f"the file is {status.st_size:,} bytes; the limit is {limit:,}", where=path
            )
        return file.read()


def write_atomic(path: str, data: bytes, mode: int = PRIVATE_FILE) -> None:
    """Replace ``path`` by ``data``: readers see the old text or the new, never a part.

    Raises:
        ProjectError: it cannot be written; what was there is as it was.
    """
    refuse_link(path)
    draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        fd, is_named = new_draft(draft, mode)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
                if not is_named:
                    name_draft(fd, draft)
            os.replace(draft, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise cannot("write", path, error) from None


def new_draft(path: str, mode: int = PRIVATE_FILE) -> tuple[int, bool]:
    """Open a file to write to, and say whether it has its name yet.

    It has none where the file system can do that: then nothing is left of it, in whatever moment
    this process is interrupted or killed.
    """
    flags = os.O_WRONLY | os.O_CLOEXEC
    if _UNNAMED and os.path.isdir(_OPEN_FILES):
        with suppress(OSError):
            return os.open(os.path.dirname(path) or ".", flags | _UNNAMED, mode), False
    return os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), True


def name_draft(fd: int, path: str) -> None:
    """Give a draft that has none its name."""
    folder = os.open(_OPEN_FILES, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Only with a folder's descriptor does Python ask for the link to be followed.
        os.link(str(fd), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def clear_drafts(folder: str, beginning: str, end: str) -> None:
    """Remove what writers that were killed left: their drafts, once they are old.

    Args:
        folder: where they lie; nothing below it is looked at.
        beginning: of a draft's name; digits follow, the writer's process id first.
        end: of the name.
    """
    try:
        mode = os.stat(folder).st_mode
        names = os.listdir(folder)
    except OSError:
        return
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        return  # others can give a folder of ours such a name
    for name in names:
        middle = name.removeprefix(beginning).removesuffix(end)
        if name != f"{beginning}{middle}{end}" or not (middle.isascii() and middle.isdecimal()):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError):  # another one clears it, or it is not ours to clear
            status = os.lstat(path)
            old = time.time() - status.st_mtime > DRAFT_SECONDS
            if old and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                import shutil

                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def lock_folder(path: str) -> Iterator[None]:
    """Hold the folder against other processes that lock it, for what must be looked up and made."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT
        while not _locked(fd):
            if time.monotonic() > deadline:
                raise ProjectError(
                    f"another process has held this folder for more than {LOCK_TIMEOUT:g} s",
                    where=path,
                    help="wait for the other 'rotifer agent' command to end, then try again",
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def cannot(verb: str, path: str, error: OSError) -> ProjectError:
    """The error for a file or folder that the system does not let us have, with the next step.

    Args:
        verb: what could not be done: ``read``, ``write``, ``make``.
        path: it.
        error: the system's.
    """
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return TooManyFiles(
            f"cannot {verb} this: too many files are open",
            where=path,
            help="close agents that are not in use; the limit is in 'ulimit -n'",
        )
    from rotifer_engine import remedy_of

    return ProjectError(
        f"cannot {verb} this: {(error.strerror or str(error)).lower()}",
        where=path,
        help=remedy_of(error),
    )
