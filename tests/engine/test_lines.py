"""Files of lines under many writers."""

from __future__ import annotations

import os
import threading

import pytest

from rotifer_engine import FileSystem
from rotifer_engine._lines import LineFile


class Counting(FileSystem):
    """Counts the writes, and can write less than asked."""

    writes = 0

    def append(self, fd, data):
        """Write once."""
        self.writes += 1
        super().append(fd, data)

    def sync(self, fd):
        """Do not wait."""


@pytest.fixture
def path(tmp_path):
    """Where the file will be."""
    return os.path.join(tmp_path, "state", "x.jsonl")


@pytest.fixture
def lines(path):
    """A file of lines."""
    lines = LineFile(path, Counting(), durable=True, lock_timeout_ms=5_000)
    yield lines
    lines.close()


def read(path):
    """What is in the file."""
    with open(path, "rb") as file:
        return file.read()


def test_many_lines_are_one_write(lines, path):
    """A batch goes into the file at once, each line with its end; the new size comes back."""
    size = lines.append(lambda _fd, _size: ["a", "bb"])

    assert (b"a\nbb\n", 5, 1) == (read(path), size, lines._files.writes)


def test_nothing_to_write_writes_nothing(lines, path):
    """Not even a line end after a torn line."""
    lines.append(lambda _fd, _size: ["a"])
    with open(path, "ab") as file:
        file.write(b"torn")
    assert 6 == lines.append(lambda _fd, size: [] if size == 6 else ["wrong"])
    lines.append(lambda _fd, _size: ["b"])

    assert b"a\ntorn\nb\n" == read(path)


def test_a_huge_batch_is_written_in_parts(lines, path):
    """However many lines, memory stays bounded and none is lost."""
    size = lines.append(lambda _fd, _size: ("x" * 999 for _ in range(3_000)))

    assert (3_000_000, b"x" * 999 + b"\n") == (size, read(path)[-1_000:])
    assert 1 < lines._files.writes < 10


def test_threads_do_not_interleave(lines, path):
    """Every line of every thread is whole."""

    def work(letter):
        for _ in range(50):
            lines.append(lambda _fd, _size: [letter * 500] * 3)

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = read(path).splitlines()

    assert sorted(letter.encode() * 500 for letter in "abcd" for _ in range(150)) == sorted(written)


def test_a_deleted_file_is_made_anew(lines, path):
    """The open descriptor is not written to when no name leads to it."""
    lines.append(lambda _fd, _size: ["a"])
    os.unlink(path)
    lines.append(lambda _fd, _size: ["b"])

    assert b"b\n" == read(path)


def test_an_error_while_lines_are_made_lets_go_of_the_lock(lines, path):
    """The next append, here or elsewhere, is not blocked."""
    with pytest.raises(ZeroDivisionError):
        lines.append(lambda _fd, _size: [1 / 0])
    other = LineFile(path, FileSystem(), durable=False, lock_timeout_ms=0)
    other.append(lambda _fd, _size: ["a"])
    other.close()

    assert b"a\n" == read(path)


def test_a_forked_child_has_a_lock_of_its_own(lines, path):
    """The child lets go of the inherited descriptor, whose lock would be the parent's."""
    lines.append(lambda _fd, _size: ["parent"])
    child = os.fork()
    if child == 0:
        try:
            lines.append(lambda _fd, _size: ["child"])
            lines.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    lines.append(lambda _fd, _size: ["parent"])

    assert b"parent\nchild\nparent\n" == read(path)


def test_the_lock_is_held_until_the_lines_are_on_the_disk(path):
    """While they are written nobody else gets it, and afterwards anybody does."""
    tried = []

    class Files(FileSystem):
        def try_lock(self):
            fd = os.open(path, os.O_RDWR)
            try:
                self.lock(fd, 0)
            except TimeoutError:
                tried.append("taken")
            else:
                tried.append("free")
            finally:
                os.close(fd)

        def read_at(self, fd, offset, size):
            self.try_lock()
            return super().read_at(fd, offset, size)

        def append(self, fd, data):
            self.try_lock()
            super().append(fd, data)
            self.try_lock()

        def sync(self, fd):
            self.try_lock()
            super().sync(fd)

    files = Files()
    lines = LineFile(path, files, durable=True, lock_timeout_ms=1_000)
    lines.append(lambda _fd, _size: ["{}"])
    files.try_lock()
    lines.append(lambda _fd, _size: ["{}"])
    files.try_lock()
    lines.close()

    assert [*["taken"] * 3, "free", *["taken"] * 4, "free"] == tried


class Full(Counting):
    """A disk that takes so many bytes more; `cut` can fail as well."""

    room = 1_000_000
    may_cut = True

    def append(self, fd, data):
        """Write what there is room for."""
        part, self.room = data[: self.room], max(0, self.room - len(data))
        os.write(fd, part)
        if len(part) < len(data):
            raise OSError(28, "No space left on device")

    def cut(self, fd, size):
        """Cut, if it may."""
        if not self.may_cut:
            raise OSError(5, "Input/output error")
        super().cut(fd, size)


@pytest.mark.parametrize(
    ("room", "left"),
    [(0, b"old\n"), (3, b"old\n"), (5, b"old\n"), (6, b"old\nfirst\n"), (9, b"old\nfirst\n")],
)
def test_a_full_disk_leaves_no_half_line(path, room, left):
    """What is left are whole lines, and the next append is as it would have been."""
    files = Full()
    lines = LineFile(path, files, durable=True, lock_timeout_ms=5_000)
    lines.append(lambda _fd, _size: ["old"])
    files.room = room
    with pytest.raises(OSError, match="No space"):
        lines.append(lambda _fd, _size: ["first", "second"])
    assert left == read(path)

    files.room = 1_000
    lines.append(lambda _fd, _size: ["third"])
    lines.close()

    assert left + b"third\n" == read(path)


def test_a_half_line_that_is_longer_than_what_is_written_at_once(path):
    """It is cut off as a short one is, and what was written before it stays."""
    files = Full()
    files.room = 2_500_000
    lines = LineFile(path, files, durable=True, lock_timeout_ms=5_000)
    with pytest.raises(OSError, match="No space"):
        lines.append(lambda _fd, _size: ["a" * 1_048_575, "b" * 2_000_000])
    lines.close()

    assert b"a" * 1_048_575 + b"\n" == read(path)


def test_a_half_line_that_cannot_be_cut_off(path):
    """It stays, and the next line starts on a fresh one."""
    files = Full()
    files.room, files.may_cut = 3, False
    lines = LineFile(path, files, durable=True, lock_timeout_ms=5_000)
    with pytest.raises(OSError, match="No space"):
        lines.append(lambda _fd, _size: ["first"])
    files.room = 1_000
    lines.append(lambda _fd, _size: ["second"])
    lines.close()

    assert b"fir\nsecond\n" == read(path)


def test_a_torn_line_of_somebody_else_is_not_cut(path):
    """Only what this append left is taken off again."""
    files = Full()
    lines = LineFile(path, files, durable=True, lock_timeout_ms=5_000)
    lines.append(lambda _fd, _size: ["old"])
    with open(path, "ab") as file:
        file.write(b"torn")
    files.room = 4
    with pytest.raises(OSError, match="No space"):
        lines.append(lambda _fd, _size: ["first"])
    lines.close()

    assert b"old\ntorn\n" == read(path)


def test_a_follower_of_a_log_that_was_cut(path, tmp_path):
    """Whoever reads along never sees the half line, and goes on with the next whole one."""
    from rotifer_engine._trail import FileTrail

    def record(change):
        return f'{{"action":"memory.create","agent_id":"x","change_id":"{change}"}}'

    seen = []

    class Followed(Full):
        def cut(self, fd, size):
            seen.extend(trail.read())  # the half line is there still
            super().cut(fd, size)

    files = Followed()
    lines = LineFile(path, files, durable=True, lock_timeout_ms=5_000)
    trail = FileTrail(path, FileSystem(), "x")
    lines.append(lambda _fd, _size: [record("1")])
    seen.extend(trail.read())
    files.room = 30
    with pytest.raises(OSError, match="No space"):
        lines.append(lambda _fd, _size: [record("2")])
    files.room = 1_000
    lines.append(lambda _fd, _size: [record("3")])
    seen.extend(trail.read())

    assert ["1", "3"] == [one["change_id"] for one in seen]
    trail.close()
    lines.close()


def test_reading_needs_no_permission_to_write(path, monkeypatch):
    """Neither the whole file nor a follower opens it for writing."""
    from rotifer_engine._reading import LineReader
    from rotifer_engine._trail import FileTrail

    lines = LineFile(path, FileSystem(), durable=False, lock_timeout_ms=5_000)
    lines.append(lambda _fd, _size: ["a"])
    lines.close()
    asked = []
    real = os.open
    monkeypatch.setattr(
        os, "open", lambda name, flags, *more: (asked.append(flags), real(name, flags, *more))[1]
    )

    with LineReader(path, FileSystem()) as reader:
        assert [(1, b"a")] == list(reader.numbered())
    trail = FileTrail(path, FileSystem(), "x")
    assert [] == list(trail.read())
    trail.close()

    assert [os.O_RDONLY, os.O_RDONLY] == [flags & os.O_ACCMODE for flags in asked]


def test_a_file_that_cannot_be_closed_to_others_is_no_leak(path, monkeypatch):
    """It is refused for writing, read all the same, and no descriptor stays behind."""
    os.makedirs(os.path.dirname(path))
    with open(path, "wb"):
        os.chmod(path, 0o644)
    monkeypatch.setattr(os, "fchmod", _read_only)
    files = FileSystem()
    with pytest.raises(OSError, match="Read-only"):
        files.open_private(path)
    held = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="Read-only"):
        files.open_private(path)
    files.close(files.open_to_read(path))

    assert len(held) == len(os.listdir("/proc/self/fd"))


def _read_only(_fd, _mode):
    raise OSError(30, "Read-only file system")
