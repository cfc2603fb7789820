"""A gene's source files made ready to run, once (design §4).

A trusted Node process turns TypeScript into JavaScript; what it made is kept in ``.rotifer/cache/``,
one file a gene's state, named by the SHA-256 of all that decides the outcome: the files' names and
contents, the Node binary, the shim's transformer. A cache that cannot be read or written costs time
and is no error.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import NamedTuple, cast

from rotifer_shim import shim_path

from .errors import GeneError

__all__ = ["ReadyFile", "file_url", "ready"]

_EXTENSIONS = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")  # they hold types alone
_BOM = b"\xef\xbb\xbf"

_LAYOUT = 1  # of the cache's files; raised when it changes
_SUFFIX = ".ready"
_MAX_CACHE_BYTES = 64 * 1024 * 1024
_TIME_LIMIT_S = 30.0


class ReadyFile(NamedTuple):
    """A file of a gene as its worker gets it.

    Attributes:
        path: relative to the gene's folder, with ``/``.
        url: its ``file:`` URL.
        format: ``module``, ``commonjs`` or ``json``; ``fault`` for a file that cannot run, which
            matters only if the gene loads it.
        source: UTF-8 text without a byte order mark; for a ``fault`` the JSON of its ``message``,
            ``line``, ``column`` and ``help``.
    """

    path: str
    url: str
    format: str
    source: bytes


class _Outcome(NamedTuple):
    """What became of a file; ``source`` is None where the file runs as it is."""

    path: str
    format: str
    source: bytes | None


def ready(
    gene_files: Mapping[str, bytes],
    folder: str,
    *,
    node: str,
    cache_dir: str,
    entry: str | None = None,
) -> list[ReadyFile]:
    """Make a gene's files ready for its worker.

    Args:
        gene_files: contents by path relative to the gene's folder; what is neither code nor JSON is
            left out.
        folder: the gene's folder, absolute.
        node: the Node binary that will run them, absolute.
        cache_dir: where outcomes are kept; made when it is not there.
        entry: the file the gene starts with; a fault in it is raised here, one in any other file
            when the gene loads it.

    Raises:
        GeneError: the entry cannot run, with its line and the way out (E0052), or the
            transformation itself did not come to an end.
    """
    files = {
        path: data.removeprefix(_BOM)
        for path, data in gene_files.items()
        if path.endswith((*_EXTENSIONS, ".json")) and not path.endswith(_DECLARATIONS)
    }
    key = _key(files, node)
    outcomes = _load(cache_dir, key)
    if outcomes is None:
        outcomes = _make(files, folder, node)
        _store(cache_dir, key, outcomes)
    if entry is not None:
        _raise_fault(outcomes, entry, folder)
    return [
        ReadyFile(
            outcome.path,
            file_url(folder, outcome.path),
            outcome.format,
            files[outcome.path] if outcome.source is None else outcome.source,
        )
        for outcome in outcomes
    ]


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~")


def file_url(folder: str, path: str) -> str:
    """Build the ``file:`` URL of a gene's file; what could mean something else is escaped."""
    raw = os.fsencode(f"{folder}/{path}")
    if _PLAIN.issuperset(raw):
        return "file://" + raw.decode()
    return "file://" + "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in raw)


def _raise_fault(outcomes: list[_Outcome], entry: str, folder: str) -> None:
    for outcome in outcomes:
        if outcome.path == entry and outcome.format == "fault":
            fault = json.loads(outcome.source or b"{}")
            where = os.path.join(folder, entry)
            if fault["line"] is not None:
                where = f"{where}:{fault['line']}"
            raise GeneError(fault["message"], code="E0052", where=where, help=fault["help"])


# ── the key ───────────────────────────────────────────────────────────────────────────────────────


def _key(files: Mapping[str, bytes], node: str) -> str:
    """Name the outcome by all that decides it, so that nothing stale is ever found.

    Paths are relative: a project may move and keep its cache.
    """
    binary = os.path.realpath(node)
    status = os.stat(binary)
    digest = hashlib.sha256(
        f"{_LAYOUT}\n{binary}\n{status.st_size}\n{status.st_mtime_ns}\n".encode(
            errors="surrogateescape"
        )
    )
    # By its text: a wheel may give every version of a file the same time and size.
    with open(shim_path("transform.cjs"), "rb", buffering=0) as transformer:
        digest.update(transformer.read())
    for path in sorted(files):
        data = files[path]
        digest.update(f"\n{len(path)} {len(data)} {path}\n".encode(errors="surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


# ── the cache ─────────────────────────────────────────────────────────────────────────────────────
#
# One file an outcome: a line of JSON, then the sources, one after the other. It is code that will
# run, so it is believed only if it is a plain file of ours that nobody else can write, and whole.


def _load(cache_dir: str, key: str) -> list[_Outcome] | None:
    try:
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fd = os.open(key + _SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        status = os.fstat(fd)
        if (
            not stat.S_ISREG(status.st_mode)
            or stat.S_IMODE(status.st_mode) != 0o600
            or status.st_uid != os.geteuid()
        ):
            return None
        with open(fd, "rb", buffering=0, closefd=False) as file:
            data = file.read()
    except OSError:
        return None
    finally:
        os.close(fd)
    return _unpack(data, key)


def _pack(key: str, outcomes: list[_Outcome]) -> bytes:
    body = b"".join(outcome.source or b"" for outcome in outcomes)
    sizes = [
        (path, form, None if source is None else len(source)) for path, form, source in outcomes
    ]
    head = {"key": key, "sha256": hashlib.sha256(body).hexdigest(), "files": sizes}
    return json.dumps(head).encode() + b"\n" + body


def _unpack(data: bytes, key: str) -> list[_Outcome] | None:
    """Read a cache file; None for one that is torn, damaged or not ours."""
    try:
        line, body = data.split(b"\n", 1)
        head = json.loads(line)
        if head["key"] != key or head["sha256"] != hashlib.sha256(body).hexdigest():
            return None
        outcomes: list[_Outcome] = []
        start = 0
        for path, form, size in head["files"]:
            end = start if size is None else start + size
            outcomes.append(_Outcome(path, form, None if size is None else body[start:end]))
            start = end
    except (ValueError, KeyError, TypeError):
        return None
    return outcomes


def _store(cache_dir: str, key: str, outcomes: list[_Outcome]) -> None:
    """Keep an outcome: written aside, then put in its place in one step."""
    try:
        os.makedirs(cache_dir, mode=0o700, exist_ok=True)
        folder = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    aside = f".{key[:16]}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            fd = os.open(aside, flags, 0o600, dir_fd=folder)
        except FileExistsError:
            return  # a thread of ours is writing the same outcome
        try:
            with open(fd, "wb") as file:
                file.write(_pack(key, outcomes))
            os.replace(aside, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(aside, dir_fd=folder)
            raise
        _prune(folder)
    except OSError:
        return  # a cache that cannot be written is no error
    finally:
        os.close(folder)


def _prune(folder: int, max_bytes: int | None = None) -> None:
    """Remove the oldest outcomes until the rest fits, and what crashed writers left."""
    limit = _MAX_CACHE_BYTES if max_bytes is None else max_bytes
    found: list[tuple[int, int, str]] = []
    for name in os.listdir(folder):
        if name.endswith((_SUFFIX, ".tmp")):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((status.st_mtime_ns, status.st_size, name))
    total = sum(size for _, size, _ in found)
    for _, size, name in sorted(found):
        if total <= limit:
            break
        os.unlink(name, dir_fd=folder)
        total -= size


# ── the outcome ───────────────────────────────────────────────────────────────────────────────────


def _make(files: Mapping[str, bytes], folder: str, node: str) -> list[_Outcome]:
    """Judge what can be judged here, and let Node do the rest."""
    outcomes: list[_Outcome] = []
    sources: list[dict[str, str]] = []
    for path, data in files.items():
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            outcomes.append(_encoding_fault(path, data, error.start))
            continue
        if path.endswith(".json"):
            outcomes.append(_json_outcome(path, text))
        else:
            sources.append({"path": path, "source": text})
    if sources:
        outcomes += _run(sources, folder, node)
    return outcomes


def _fault(
    path: str,
    message: str,
    *,
    line: int | None = None,
    column: int | None = None,
    help: str | None = None,  # noqa: A002 - the word the reader sees
) -> _Outcome:
    fault = {"message": message, "line": line, "column": column, "help": help}
    return _Outcome(path, "fault", json.dumps(fault).encode())


def _encoding_fault(path: str, data: bytes, offset: int) -> _Outcome:
    return _fault(
        path,
        f"the file is not UTF-8: byte 0x{data[offset]:02x} at offset {offset:,}",
        line=data.count(b"\n", 0, offset) + 1,
        help="Save the file as UTF-8.",
    )


def _json_outcome(path: str, text: str) -> _Outcome:
    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    try:
        json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        return _fault(path, f"not JSON: {error.msg}", line=error.lineno, column=error.colno)
    except ValueError as error:
        return _fault(path, f"not JSON: {error}")
    except RecursionError:
        pass  # deeper than Python goes; JavaScript goes deeper
    return _Outcome(path, "json", None)


def _run(sources: list[dict[str, str]], folder: str, node: str) -> list[_Outcome]:
    from ._transformer import transform

    try:
        answer = transform(node, {"files": sources}, time_limit=_TIME_LIMIT_S)
    except (OSError, RuntimeError) as error:
        raise GeneError(
            f"the gene's sources could not be made ready: {error}",
            code="E0052",
            where=folder,
            help="Run `rotifer doctor`; --verbose says more.",
        ) from error
    outcomes: list[_Outcome] = []
    for file in cast("list[dict[str, object]]", answer["files"]):
        path = cast("str", file["path"])
        if "fault" in file:
            outcomes.append(_Outcome(path, "fault", json.dumps(file["fault"]).encode()))
            continue
        source = cast("str | None", file["source"])
        text = None if source is None else source.encode()
        outcomes.append(_Outcome(path, cast("str", file["format"]), text))
    return outcomes
