"""What to do about a file that the system does not let us have."""

from __future__ import annotations

import errno
import os

import pytest

from rotifer_engine import remedy_of


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "make room on its disk"),
        (errno.EDQUOT, "make room on its disk"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EACCES, "the permissions of it"),
        (errno.EROFS, "can only be read"),
        (errno.ENOENT, "check the path"),
        (errno.EISDIR, "name a file"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "check the path and its disk"),
        (None, "check the path and its disk"),
    ],
)
def test_the_next_step(code, words):
    """By the system's reason; for one that nobody foresaw, where to look."""
    error = OSError() if code is None else OSError(code, os.strerror(code))

    assert words in remedy_of(error)
