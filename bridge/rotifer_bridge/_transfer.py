"""The files that a memory is exported to and imported from.

What is exported is as private as the memory itself, so the file is too; and it is there whole or
not at all.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rotifer_bridge._files import cannot, name_draft, new_draft
from rotifer_bridge.errors import ProjectError, UsageError
from rotifer_engine import judged_lines

if TYPE_CHECKING:
    from io import FileIO
    from typing import BinaryIO

    from rotifer_bridge._project import Project

__all__ = ["STANDARD", "input_file", "output_file"]

STANDARD = "-"  # standard input or output in the place of a file

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}


@contextmanager
def output_file(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """A file to write bytes to, for its owner only, that stands at ``path`` once it is whole.

    Args:
        path: where to.
        force: whether to replace what is there.

    Raises:
        UsageError: something is there already.
        ProjectError: it cannot be written; nothing is left of it.
    """
    _demand_room(path, force=force)
    draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        fd, is_named = new_draft(draft)
        try:
            with open(fd, "wb") as file:
                yield file
                file.flush()
                os.fsync(fd)
                if not is_named:
                    name_draft(fd, draft)
            _give_name(draft, path, force=force)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise cannot("write", path, error) from None


def _give_name(draft: str, path: str, *, force: bool) -> None:
    """Rename; without force, never over a file that came to be there meanwhile."""
    if not force:
        try:
            os.link(draft, path)
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return
        if os.path.lexists(path):
            raise _exists(path)
    os.replace(draft, path)


@contextmanager
def input_file(path: str, project: Project) -> Iterator[BinaryIO]:
    """An export to read bytes from, as a whole: nobody has to wait for its other end.

    A pipe is read to its end first, into a file without a name in the project's private folder:
    an import keeps the memory's other writers waiting, and a pipe may take its time. Each line is
    judged before it is kept, so a device or a program that never ends fills no disk.

    Args:
        path: where from; ``-`` is the standard input.
        project: whose private folder holds the file without a name.

    Raises:
        ProjectError: it cannot be read, or not be kept until its end.
        InvalidInput: what comes through a pipe is no export.
    """
    try:
        with (
            open(0 if path == STANDARD else path, "rb", closefd=path != STANDARD) as given,
            _whole(given, project) as file,
        ):
            yield file
    except OSError as error:
        what = "the standard input" if path == STANDARD else path
        raise cannot("read", what, error) from None


@contextmanager
def _whole(given: BinaryIO, project: Project) -> Iterator[BinaryIO]:
    if stat.S_ISREG(os.fstat(given.fileno()).st_mode):
        yield given
        return
    lines = judged_lines(given)
    first = next(lines)  # nothing is made for what is no export
    project.make_state_dirs()
    with _spool(project.state_dir) as spool:
        _keep(spool, first, project.state_dir)
        for line in lines:
            _keep(spool, line, project.state_dir)
        spool.seek(0)
        with open(spool.fileno(), "rb", closefd=False) as file:
            yield file


def _spool(folder: str) -> FileIO:
    """A file without a name; unbuffered, so that what it cannot hold fails where it is written."""
    from tempfile import TemporaryFile

    try:
        return TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise _not_kept(folder, error) from None


def _keep(spool: FileIO, line: bytes, folder: str) -> None:
    view = memoryview(line)
    try:
        while view:
            view = view[spool.write(view) :]
    except OSError as error:
        raise _not_kept(folder, error) from None


def _not_kept(folder: str, error: OSError) -> ProjectError:
    why = (error.strerror or str(error)).lower()
    return ProjectError(
        f"what comes through the pipe cannot be kept until its end: {why}",
        where=folder,
        help="make room there, or write it into a file elsewhere and import that file: it is read "
        "where it stands",
    )


def _demand_room(path: str, *, force: bool) -> None:
    """Refuse what is there, unless it is to be replaced."""
    with suppress(OSError):  # nothing is there, or whoever writes says what is wrong
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            # Replaced, a device or a pipe, or the link to it, would be gone for whoever uses it.
            raise UsageError(
                "this is a device, a pipe or a socket, and is not replaced",
                where=path,
                help="name a file; '-' is the standard output",
            )
    if not force and os.path.lexists(path):
        raise _exists(path)


def _exists(path: str) -> UsageError:
    return UsageError("there is something already", where=path, help="--force replaces it")
