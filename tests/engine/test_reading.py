"""A file of lines read as it was at one moment."""

from __future__ import annotations

import os

import pytest
from tests.held import given_back

from rotifer_engine import FileSystem
from rotifer_engine._reading import MAX_LINE_BYTES, LineReader


def read(path, files=None):
    """All lines with their numbers."""
    with LineReader(str(path), files or FileSystem()) as reader:
        return list(reader.numbered())


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [(1, b"")]),
        (b"a", [(1, b"a")]),
        (b"a\nb\n", [(1, b"a"), (2, b"b")]),
        (b"a\n\nb", [(1, b"a"), (2, b""), (3, b"b")]),
        (b"a\r\nb", [(1, b"a\r"), (2, b"b")]),
    ],
)
def test_lines(tmp_path, data, lines):
    """Each has its number, the last one also without an end."""
    (tmp_path / "log").write_bytes(data)

    assert lines == read(tmp_path / "log")


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nnext"])
def test_long_lines(tmp_path, over, end):
    """The longest line that is held, and one byte more, which is told and not held."""
    long = b"x" * (MAX_LINE_BYTES + over)
    (tmp_path / "log").write_bytes(b"first\n" + long + end)
    lines = read(tmp_path / "log")

    assert (2, None if over > 0 else long) == lines[1]
    assert [(3, b"next")] * end.endswith(b"next") == lines[2:]


def test_lines_across_pieces(tmp_path):
    """Where the file is cut into pieces to be read does not show."""
    lines = [b"%d" % number * (number % 700) for number in range(9_000)]
    (tmp_path / "log").write_bytes(b"\n".join(lines))

    assert lines == [line for _, line in read(tmp_path / "log")]


def test_what_is_appended_meanwhile(tmp_path):
    """It is not seen, nor is another file of that name."""
    path = tmp_path / "log"
    path.write_bytes(b"old\n")
    with LineReader(str(path), FileSystem()) as reader:
        with path.open("ab") as file:
            file.write(b"new\n")
        os.rename(path, tmp_path / "rotated")
        path.write_bytes(b"another\n")

        assert [(1, b"old")] == list(reader.numbered())


def test_a_file_made_shorter_meanwhile(tmp_path):
    """Reading ends where the file ends now."""
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    with LineReader(str(path), FileSystem()) as reader:
        os.truncate(path, 5)

        assert [(1, b"one"), (2, b"t")] == list(reader.numbered())


def test_a_size_that_cannot_be_had(tmp_path):
    """The descriptor is closed again."""

    class Failing(FileSystem):
        def size(self, fd):
            raise OSError(5, "Input/output error")

    (tmp_path / "log").write_bytes(b"")
    with given_back(), pytest.raises(OSError, match="Input/output error"):
        LineReader(str(tmp_path / "log"), Failing())
