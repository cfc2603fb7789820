"""File operations: private, and never through a link."""

from __future__ import annotations

import os
import stat

import pytest

from rotifer_engine import FileSystem

FILES = FileSystem()


def mode(path):
    """The permission bits."""
    return stat.S_IMODE(os.stat(path).st_mode)


def test_private_folders(tmp_path):
    """Made with mode 0700, left alone when there, refused where a file is."""
    path = str(tmp_path / "folder")
    FILES.make_private_dir(path)
    FILES.make_private_dir(path)
    (tmp_path / "file").write_text("")

    assert 0o700 == mode(path)
    with pytest.raises(FileExistsError):
        FILES.make_private_dir(str(tmp_path / "file"))


def test_open_private_can_refuse_to_make(tmp_path):
    """Without leave to create, a missing file is an error."""
    with pytest.raises(FileNotFoundError):
        FILES.open_private(str(tmp_path / "none"), create=False)


def test_descriptors_are_not_inherited(tmp_path):
    """A gene's process gets none of ours."""
    fd = FILES.open_private(str(tmp_path / "file"))

    assert not os.get_inheritable(fd)
    FILES.close(fd)


def test_create_private_says_whether_it_made_the_file(tmp_path):
    """The second time it was there."""
    path = str(tmp_path / "file")

    assert (True, False, 0o600) == (
        FILES.create_private(path),
        FILES.create_private(path),
        mode(path),
    )


def test_make_private(tmp_path):
    """Group and others lose what they had; a missing file is no error; a link is."""
    path = tmp_path / "file"
    path.write_text("")
    path.chmod(0o664)
    FILES.make_private(str(path))
    FILES.make_private(str(tmp_path / "none"))
    link = tmp_path / "link"
    link.symlink_to(path)

    assert 0o600 == mode(path)
    with pytest.raises(OSError, match="symbolic link"):
        FILES.make_private(str(link))
    with pytest.raises(OSError, match="not a regular file"):
        FILES.make_private(str(tmp_path))


def test_append_goes_on_after_a_short_write(tmp_path, monkeypatch):
    """Whatever part the system takes at once, all is written."""
    fd = FILES.open_private(str(tmp_path / "file"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    FILES.append(fd, b"0123456789")
    monkeypatch.undo()

    assert b"0123456789" == FILES.read_at(fd, 0, 99)
    FILES.close(fd)


def test_a_lock_ends_with_its_time(tmp_path):
    """A second opener waits no longer than told, and has it after the first."""
    path = str(tmp_path / "file")
    one, two = FILES.open_private(path), FILES.open_private(path)
    FILES.lock(one, 0)
    with pytest.raises(TimeoutError, match="5 ms"):
        FILES.lock(two, 5)
    FILES.unlock(one)
    FILES.lock(two, 0)
    FILES.close(one)
    FILES.close(two)


def test_write_atomic_replaces_as_a_whole(tmp_path):
    """Mode 0600, and nothing left beside it."""
    path = tmp_path / "file"
    FILES.write_atomic(str(path), b"one")
    FILES.write_atomic(str(path), b"two")

    assert (b"two", 0o600, ["file"]) == (path.read_bytes(), mode(path), os.listdir(tmp_path))


def test_write_atomic_that_fails_leaves_the_old(tmp_path):
    """The old contents stay and the half-written copy goes."""

    class Full(FileSystem):
        def sync(self, fd):
            raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No space"):
        Full().write_atomic(str(path), b"new")

    assert (b"old", ["file"]) == (path.read_bytes(), os.listdir(tmp_path))


def test_same_file_notices_a_rename(tmp_path):
    """And a name that is gone."""
    path = str(tmp_path / "file")
    fd = FILES.open_private(path)
    assert FILES.same_file(fd, path)
    os.rename(path, path + ".1")
    assert not FILES.same_file(fd, path)
    os.close(FILES.open_private(path))
    assert not FILES.same_file(fd, path)
    FILES.close(fd)
