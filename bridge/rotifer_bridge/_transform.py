"""A gene's source files made ready to run (design §4).

A trusted Node process turns TypeScript into JavaScript, once: the outcome is kept in
``.rotifer/cache/``, named by the SHA-256 of all that decides it: the files' names and contents, the
Node binary, the shim's transformer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from rotifer_engine.quick import NamedTuple, dumps, loads, sha256
from rotifer_shim import shim_path

from ._cache_folder import READY
from ._failure import is_shortage, unserved
from ._text import shown_path
from ._transform_cache import Outcome, load, store
from ._transformer_start import give_up_ahead
from .errors import GeneError, RunTimedOut

__all__ = ["ReadyFile", "file_url", "ready"]

_CODE = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
_TYPES_ONLY = (".d.ts", ".d.mts", ".d.cts")
_BOM = b"\xef\xbb\xbf"

_LAYOUT = 1  # of the cache's files and of what stands in them; raised when either changes
_TIME_LIMIT_S = 30.0
_ENDLESS = float("inf")


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


def ready(
    gene_files: Mapping[str, bytes],
    folder: str,
    *,
    node: str,
    cache_dir: str,
    entry: str | None = None,
    time_limit: float = _ENDLESS,
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
        time_limit: seconds that compiling may take; 30 at most.

    Raises:
        GeneError: the entry cannot run, with its line and the way out (E0052), or the
            transformation itself did not come to an end.
        RunTimedOut: compiling took longer than ``time_limit``.
        RunError: this process has no descriptor or process for it.
    """
    if not _is_text(folder):
        raise GeneError(
            f"the path {folder!a} is not UTF-8, and Node loads from no other",
            code="E0052",
            help="Rename the folder.",
        )
    files = {
        path: data.removeprefix(_BOM) for path, data in gene_files.items() if _is_loadable(path)
    }
    key = _key(files, node)
    outcomes = load(cache_dir, key)
    if outcomes is None:
        outcomes = _make(files, folder, node, min(time_limit, _TIME_LIMIT_S))
        store(cache_dir, key, outcomes)
    else:
        give_up_ahead(os.path.join(cache_dir, key + READY))
    if entry is not None:
        _raise_fault(outcomes, entry, folder)
    return [
        ReadyFile(path, file_url(folder, path), form, files[path] if source is None else source)
        for path, form, source in outcomes
    ]


def _is_loadable(path: str) -> bool:
    if path.endswith(_TYPES_ONLY):
        return False
    # Nothing can import a file whose name is no text.
    return path.endswith((*_CODE, ".json")) and _is_text(path)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False  # bytes that are not UTF-8, as Python has them in names
    return True


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~")


def file_url(folder: str, path: str) -> str:
    """Build the ``file:`` URL of a gene's file; what could mean something else is escaped."""
    raw = f"{folder}/{path}".encode()
    if _PLAIN.issuperset(raw):
        return "file://" + raw.decode()
    return "file://" + "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in raw)


def _raise_fault(outcomes: list[Outcome], entry: str, folder: str) -> None:
    for path, form, source in outcomes:
        if path == entry and form == "fault":
            fault = loads((source or b"{}").decode())
            where = shown_path(os.path.join(folder, entry))
            if fault["line"] is not None:
                where = f"{where}:{fault['line']}"
            raise GeneError(
                f"gene '{os.path.basename(folder)}' could not be loaded: {fault['message']}",
                code="E0052",
                where=where,
                help=fault["help"],
            )


def _key(files: Mapping[str, bytes], node: str) -> str:
    """Name the outcome by all that decides it, so that nothing stale is ever found.

    Paths are relative: a project may move and keep its cache.
    """
    binary = os.path.realpath(node)
    status = os.stat(binary)
    about = f"{_LAYOUT}\n{binary}\n{status.st_size}\n{status.st_mtime_ns}\n"
    parts = [os.fsencode(about)]
    # By its text: a wheel may give every version of a file the same time and size.
    with open(shim_path("transform.cjs"), "rb", buffering=0) as transformer:
        parts.append(transformer.read())
    for path in sorted(files):
        name, data = path.encode(), files[path]
        parts += (b"\n%d %d %b\n" % (len(name), len(data), name), data)
    return sha256(b"".join(parts)).hexdigest()


def _make(files: Mapping[str, bytes], folder: str, node: str, time_limit: float) -> list[Outcome]:
    """Judge what can be judged here, and let Node do the rest."""
    outcomes: list[Outcome] = []
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
    return outcomes + _compile(sources, folder, node, time_limit)


def _compile(
    sources: list[dict[str, str]], folder: str, node: str, time_limit: float
) -> list[Outcome]:
    if not sources:
        return []
    from ._transformer import transform

    outcomes: list[Outcome] = []
    deadline = time.monotonic() + time_limit
    while sources:
        try:
            answers = transform(node, sources, deadline=deadline)
        except TimeoutError:
            raise _too_slow(folder, time_limit) from None
        except (OSError, RuntimeError) as error:
            if is_shortage(error):
                raise unserved(error) from error
            raise GeneError(
                f"the sources could not be made ready: {error}",
                code="E0052",
                where=folder,
                help=getattr(error, "help", None) or "'rotifer doctor' says whether Node works",
            ) from error
        for answer in answers:
            path, source = answer["path"], answer.get("source")
            if "fault" in answer:
                outcomes.append(Outcome(path, "fault", dumps(answer["fault"]).encode()))
            else:
                text = None if source is None else source.encode()
                outcomes.append(Outcome(path, answer["format"], text))
        # What follows a file that broke the compiler is for a new one.
        sources = sources[len(answers) :]
    return outcomes


def _too_slow(folder: str, time_limit: float) -> GeneError | RunTimedOut:
    """The error for sources that were not ready in time: the caller's limit, or ours."""
    name = os.path.basename(folder)
    if time_limit < _TIME_LIMIT_S:
        return RunTimedOut(
            f"gene '{name}': its sources could not be made ready within {time_limit:g} s, the "
            "gene's time limit",
            code="E0052",
            help="allow more with --time-limit SECONDS (timeLimit over HTTP); once ready, "
            "they are kept for later runs",
        )
    return GeneError(
        f"gene '{name}': its sources could not be made ready within {_TIME_LIMIT_S:g} s, the limit "
        "for that",
        code="E0052",
        where=folder,
        help="make them smaller; 'rotifer doctor' says whether Node works",
    )


def _json_outcome(path: str, text: str) -> Outcome:
    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is a value that JSON does not have")

    import json

    try:
        json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        return _fault(path, f"not JSON: {error.msg}", line=error.lineno, column=error.colno)
    except ValueError as error:
        return _fault(path, f"not JSON: {error}")
    except RecursionError:
        pass  # deeper than Python goes; JavaScript goes deeper
    return Outcome(path, "json", None)


def _encoding_fault(path: str, data: bytes, offset: int) -> Outcome:
    return _fault(
        path,
        f"the file is not UTF-8: byte 0x{data[offset]:02x} at offset {offset:,}",
        line=data.count(b"\n", 0, offset) + 1,
        help="Save the file as UTF-8.",
    )


def _fault(
    path: str,
    message: str,
    *,
    line: int | None = None,
    column: int | None = None,
    help: str | None = None,  # noqa: A002 - the word the reader sees
) -> Outcome:
    fault = {"message": message, "line": line, "column": column, "help": help}
    return Outcome(path, "fault", dumps(fault).encode())
