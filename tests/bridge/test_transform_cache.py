"""The cache of what became of a gene's sources (design §4)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from rotifer_bridge import _cache_folder, _transform_cache


@pytest.mark.parametrize("source", [b"exports.a = 1", b"enum E { A }", b"let a: 1", b"let a: ;"])
def test_made_once(making, source):
    """The same files are made ready once."""
    assert making({"index.ts": source}) == making({"index.ts": source})
    assert 1 == making.starts


@pytest.mark.parametrize(
    "files",
    [
        {"index.ts": b"export const express = (y: number): number => y;\n"},
        {"index.mts": b"export const express = (x: number): number => x;\n"},
        {"index.ts": b"export const express = (x: number): number => x;\n", "a.json": b"1"},
        {},
    ],
    ids=["content", "name", "more", "none"],
)
def test_made_anew_for_other_files(making, files):
    """Other contents, names or files are made anew, never mistaken for each other."""
    making()

    assert set(files) == set(making(files))
    assert set(making.PLAIN) == set(making())


def test_parts_do_not_run_together(making):
    """What is cut differently into names and contents is different."""
    one = making({"a.js": b"1\n1 4 b.js\n2"})
    two = making({"a.js": b"1", "b.js": b"2"})

    assert ["a.js"] == list(one)
    assert ["a.js", "b.js"] == list(two)


def test_made_anew_for_another_node(making):
    """Another Node binary makes them anew."""
    making()
    os.utime(making.node, ns=(1, 1))

    making()

    assert 2 == making.starts


def test_moves_with_the_project(making, tmp_path):
    """The outcome holds no path: a project that moved keeps it, and gets its new URLs."""
    making(making.ENUM)

    made = making(making.ENUM, folder="/elsewhere/g")

    assert 1 == making.starts
    assert "file:///elsewhere/g/index.ts" == made["index.ts"].url
    assert str(tmp_path).encode() not in made["index.ts"].source


def test_private(making):
    """The cache is for its owner alone, whatever the umask."""
    before = os.umask(0)
    try:
        making()
    finally:
        os.umask(before)

    assert 0o700 == stat.S_IMODE(making.cache.stat().st_mode)
    assert 0o600 == stat.S_IMODE(making.kept().stat().st_mode)


def poisoned(path):
    """The same cache file with code of somebody else, which it vouches for."""
    key = json.loads(path.read_bytes().split(b"\n", 1)[0])["key"]
    other = [_transform_cache.Outcome("index.ts", "module", b"evil()")]
    return _transform_cache._pack(key, other)


def link(path):
    """Put a link to the file in its place."""
    aside = path.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)


def foreign(path):
    """Let it say that it belongs to other files."""
    data = path.read_bytes()
    head = json.loads(data.split(b"\n", 1)[0])
    path.write_bytes(data.replace(head["key"].encode(), b"0" * 64))


DAMAGES = {
    "readable by others": lambda path: path.chmod(0o644),
    "writable by the group": lambda path: (path.write_bytes(poisoned(path)), path.chmod(0o660)),
    "a link": link,
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b" "),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-3] + b"XXX"),
    "zeros": lambda path: path.write_bytes(b"\0" * 300),
    "no dictionary": lambda path: path.write_bytes(b"[]\n"),
    "of other files": foreign,
    "a FIFO": lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged(making, damage):
    """A cache file that is not whole, or not surely ours, is passed over and written anew."""
    made = making()
    DAMAGES[damage](making.kept())

    assert made == making()
    assert 2 == making.starts
    assert made == making()
    assert 2 == making.starts


def test_folder_in_place_of_the_file(making):
    """Even what cannot be replaced is no error."""
    made = making()
    path = making.kept()
    path.unlink()
    path.mkdir()

    assert made == making()
    assert [path] == list(making.cache.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_of_another_user(making):
    """A cache file of another user is passed over."""
    made = making()
    path = making.kept()
    path.write_bytes(poisoned(path))
    os.chown(path, 65_534, -1)

    assert made == making()


def test_folder_that_is_a_link(making, tmp_path):
    """A link in the place of the cache is neither read nor written."""
    making()
    aside = tmp_path / "aside"
    making.cache.rename(aside)
    making.cache.symlink_to(aside)
    [kept] = aside.iterdir()
    kept.write_bytes(poisoned(kept))

    assert b"evil()" != making()["index.ts"].source
    assert [kept] == list(aside.iterdir())


def test_cannot_be_written(making):
    """A cache that cannot be written is no error."""
    making.cache.parent.write_text("in the way")

    assert making() == making()
    assert 2 == making.starts


def test_bounded(making, monkeypatch):
    """The oldest outcomes go when the cache is full; so does what a crashed writer left."""
    making()
    first = making.kept()
    os.utime(first, ns=(2, 2))
    left = making.cache / "0123456789abcdef-0123456789abcdef.tmp"
    left.write_bytes(b" " * 100)
    os.utime(left, ns=(1, 1))
    mine = making.cache / "notes.txt"
    mine.write_text("not ours")
    monkeypatch.setattr(_cache_folder, "MAX_BYTES", first.stat().st_size + 10)

    making({"index.ts": b"export const express = (y: number): number => y;\n"})

    names = set(making.cache.iterdir())
    assert first not in names
    assert left not in names
    assert mine in names
    assert 2 == len(names)


def test_many_at_once(making):
    """Threads that make the same files ready at once all get the outcome, and leave one file."""
    made = []
    threads = [threading.Thread(target=lambda: made.append(making(making.ENUM))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [making(making.ENUM)] * 6 == made
    making.kept()


def test_quick_when_kept(making):
    """What is kept is found without the modules that starting a process takes."""
    making(making.ENUM)
    code = (
        "import sys; from rotifer_bridge._transform import ready;"
        f"ready({making.ENUM!r}, {making.folder!r}, node={making.node!r}, cache_dir={str(making.cache)!r});"
        "print(sorted({'subprocess', 'tempfile', 'select', 'pathlib', 'urllib', 'asyncio', 'logging',"
        " 'dataclasses', 'inspect', 'pydantic', 'rotifer_bridge._transformer'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert "[]" == done.stdout.strip()
    assert 1 == making.starts


def test_what_a_killed_writer_left(making):
    """It goes with the next outcome that is kept, once it is old."""
    making()
    for name, when in (("aa-11.tmp", 1), ("bb-22.tmp", None), ("cc.else", 1)):
        (making.cache / name).write_bytes(b"half")
        if when is not None:
            os.utime(making.cache / name, (when, when))

    making(making.ENUM)

    left = {path.name for path in making.cache.iterdir() if path.suffix != ".ready"}
    assert {"bb-22.tmp", "cc.else"} == left
