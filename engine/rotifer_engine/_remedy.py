"""What somebody does about a file that the system does not let us have, by the system's reason."""

from __future__ import annotations

import errno

__all__ = ["remedy_of"]

_ROOM = "make room on its disk, then try again"
_RIGHTS = "check whose it is, and the permissions of it and of its folder"
_MANY = "close what is not in use, then try again; the limit is in 'ulimit -n'"

#: By the number of the error; what is not here is told by ``_ANY``.
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "allow larger files ('ulimit -f'), then try again",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "its disk can only be read: choose another place, or mount it for writing",
    errno.ENOENT: "check the path and the working folder",
    errno.EEXIST: "move what is there away, or choose another name",
    errno.ENOTDIR: "check the path: a file stands where a folder belongs",
    errno.EISDIR: "a folder stands where a file belongs: name a file, or move the folder away",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ELOOP: "put the file itself there, no symbolic link",
    errno.EINVAL: "put a regular file there",
    errno.EMFILE: _MANY,
    errno.ENFILE: _MANY,
    errno.ETIMEDOUT: "let it finish, or end it, then try again",
}

_ANY = "check the path and its disk"


def remedy_of(error: OSError) -> str:
    """The next step after an operation on a file that failed, as half a sentence."""
    return _REMEDIES.get(error.errno or 0, _ANY)
