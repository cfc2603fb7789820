"""What a worker tells of a failed run, in words for the gene's author (projects §3, E0052)."""

from __future__ import annotations

import errno

from rotifer_bridge._json import NotJSON, TooMuch
from rotifer_bridge._spawn import SIGKILL
from rotifer_bridge._text import shown_path
from rotifer_bridge.errors import GeneFailed, RunError, RunTimedOut, WorkerDied
from rotifer_engine.quick import dumps

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "EXIT_DISCONNECTED",
    "NO_MEMORY",
    "REFUSAL",
    "Refused",
    "broken",
    "death",
    "failed",
    "is_refusal",
    "is_shortage",
    "limits_met",
    "refusal",
    "timed_out",
    "unreadable",
    "unserved",
]

_LESS = "answer with less, and flatter; long data can be one string"
_SIGXCPU = 24  # on Linux
REFUSAL = "__rotifer_error"
"""The one key of an output that is no answer (projects §4)."""
NO_MEMORY = "Fatal process out of memory"
"""What V8 says where the machine gives it no more, whatever signal it then ends by."""
EXIT_DISCONNECTED = 113
"""What the shim exits with when the wire breaks (channel.cjs says the same)."""

# One line of a stack: `    at express (file:///p/genes/g/index.ts:4:9)`, or without the name.
_FRAME = r"(?:\(|at )(?:file://)?(/.+):(\d+):(\d+)\)?$|^(?:file://)?(/.+):(\d+)$"
_MISSING = r"Cannot find (?:module|package) '([^'\n]+)'(?: imported from ([^\n;]+))?"
_MAX_TEXT = 8_192
_SHORTAGES = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Refused(GeneFailed):
    """The gene said that the input is none for it; it did not crash."""


def failed(gene: str, folder: str, kind: str, error: Any, *, limit: int) -> GeneFailed:
    """The error for a ``failed`` message.

    Args:
        gene: the gene's name.
        folder: the gene's folder, to find the first stack frame in it.
        kind: what went wrong, in the shim's words (worker.cjs).
        error: ``{name, message, stack?, code?}`` of what was thrown, as the worker tells it.
        limit: the largest output accepted, in bytes.
    """
    told = error if isinstance(error, dict) else {}
    name, text = _clipped(told.get("name"), 200), _clipped(told.get("message"), _MAX_TEXT)
    stack = _clipped(told.get("stack"), _MAX_TEXT)
    thrown = _thrown(name, text, stack)
    help_ = None
    if told.get("code") == "ERR_ACCESS_DENIED":
        return _refused_by_node(gene, kind, _told(told.get("resource")), _where(stack, folder))
    if kind in {"threw", "uncaught"}:
        message = f"gene '{gene}' threw {thrown}"
        if told.get("code") and name in {"MemoryError", "NetworkGatewayError"}:
            message = f"gene '{gene}' threw {name} {told['code']}: {text}"
            help_ = _remedy(gene, text)
    elif kind == "load":
        fault = told.get("fault")
        if isinstance(fault, dict):
            return GeneFailed(
                f"gene '{gene}' could not be loaded: {fault.get('message')}",
                code="E0052",
                where=_told(fault.get("where")),
                help=_told(fault.get("help")),
            )
        import re

        if missing := re.match(_MISSING, text):
            return _not_found(gene, folder, missing[1], missing[2])
        message = f"gene '{gene}' could not be loaded: {thrown}"
    elif kind == "no-express":
        seen = f" (its exports are: {text})" if text else " (it exports nothing)"
        message = f"gene '{gene}' exports no function 'express'{seen}"
        help_ = "write 'export function express(input, ctx) { ... }' in its index file"
        if text == "default":
            help_ = "name the function it exports: 'export function express(...)', without default"
    elif kind == "undefined":
        message = f"gene '{gene}' returned undefined, which JSON cannot hold"
        help_ = "return a JSON value from express; null for nothing"
    elif kind == "not-json" and name == "RangeError" and "call stack" in text:
        message = f"gene '{gene}' answered JSON that cannot be written: it is nested too deeply"
        help_ = _LESS
    elif kind == "not-json":
        reason = text if name == "string" else thrown
        message = f"gene '{gene}' returned what JSON cannot hold: {reason}"
        help_ = "return strings, finite numbers, booleans, null, arrays and plain objects"
    elif kind == "too-large":
        size = f"{int(text):,}" if text.isdecimal() and len(text) < 20 else text[:20]
        message = f"gene '{gene}' returned {size} bytes of JSON; the limit is {limit:,}"
    elif kind == "exited":
        message = f"gene '{gene}' called process.exit({text}) before it answered"
        help_ = "return the answer from express; the process is the bridge's to end"
    elif kind == "unsettled":
        message = f"gene '{gene}' never answered: its promise can no longer settle"
        help_ = "nothing is left that could resolve it; look for a resolve() that is never called"
    else:
        message = f"gene '{gene}' failed: {kind[:40]}"
    return GeneFailed(message, code="E0052", where=_where(stack, folder), help=help_)


def _remedy(gene: str, text: str) -> str | None:
    """What to do about an error of ours that the gene let pass, by its words; None: nothing."""
    from rotifer_bridge._door import NO_AGENT

    if "is not in the gene's network.allowedDomains" in text:
        return "add the host there, in phenotype.json, or grant it with --allow-net HOST"
    if text == NO_AGENT:
        return (
            f"let an agent run it: 'rotifer agent create NAME -g {gene}', then "
            f"'rotifer agent run NAME'; in 'rotifer test {gene}' it has a memory, too"
        )
    return None


def is_refusal(output: object) -> bool:
    """Whether this output is a refusal and no answer."""
    return isinstance(output, dict) and output.keys() == {REFUSAL}


def refusal(gene: str, message: object) -> Refused:
    """The error for an output whose only key is ``__rotifer_error`` (projects §4).

    Args:
        gene: the gene's name.
        message: what stands under the key: an object with a ``message``, or the message itself;
            what is no text is told as JSON, which is what the gene gave.
    """
    told = message.get("message") if isinstance(message, dict) else message
    help_ = None
    if told is None:
        what = dumps(message)
        told = f"the gene gave no message: {REFUSAL} is {what[:200]}"
        help_ = f"return {{ {REFUSAL}: {{ message: 'why' }} }}"
    elif not isinstance(told, str):
        told = dumps(told)[:_MAX_TEXT]
    return Refused(f"gene '{gene}' refused: INVALID_INPUT: {told}", code="E0052", help=help_)


def unreadable(gene: str, error: NotJSON) -> GeneFailed:
    """The error for an answer that is not JSON, or more of it than can be read."""
    if isinstance(error, TooMuch):
        return GeneFailed(
            f"gene '{gene}' answered JSON that cannot be read: {error}",
            code="E0052",
            help=_LESS,
        )
    return GeneFailed(
        f"gene '{gene}' answered what is not JSON: {error}",
        code="E0052",
        help="answer with one JSON value in UTF-8, and nothing before or after it",
    )


def death(gene: str, status: int | None, last_words: str, *, limit: int) -> WorkerDied:
    """The error for a process that ended before it answered.

    Args:
        gene: the gene's name.
        status: what ``os.waitstatus_to_exitcode`` gives; None where somebody else reaped it.
        last_words: the end of what it wrote on stderr.
        limit: the largest message accepted, in bytes.
    """
    help_ = None
    if status is None:
        how = "ended"
    elif status == EXIT_DISCONNECTED:
        how = f"lost its channel (a message over {limit:,} bytes, or one that is not the protocol)"
    elif status >= 0:
        how = f"ended with exit code {status}"
    else:
        try:
            from signal import Signals

            how = f"was killed by {Signals(-status).name}"
        except ValueError:
            how = f"was killed by signal {-status}"
    if "heap out of memory" in last_words:
        how = "ran out of memory"
        help_ = "the gene holds more than Node's heap; work on smaller pieces"
    elif "IsFrozen()" in last_words or "SetFlagsFromString" in last_words:
        help_ = "V8's flags are frozen: do without v8.setFlagsFromString"
    elif status is not None:
        limits, help_ = limits_met(status, last_words)
        if NO_MEMORY in last_words:
            how = "ran out of memory"
        how += limits
    return WorkerDied(
        f"gene '{gene}': its process {how} before it answered", code="E0052", help=help_
    )


def limits_met(status: int, last_words: str) -> tuple[str, str | None]:
    """By which limits of this process's own (``ulimit``) a Node may have been ended.

    Args:
        status: its exit code, or the signal that ended it as a negative number.
        last_words: the end of what it wrote on stderr.

    Returns:
        The limits, in brackets, to stand behind what became of it, and what to do; ``""`` and None
        where none is set that could have been it.
    """
    from rotifer_bridge._ulimits import memory_limits, time_limits

    if NO_MEMORY in last_words:
        found = memory_limits()
        help_ = "raise it: to start, Node takes some 2 GB of addresses (-v) and 600 MB of data (-d)"
    elif status == -_SIGXCPU:
        found, help_ = time_limits(), "raise it, or make the gene faster"
    elif status == -SIGKILL:
        found = [*time_limits(), *memory_limits()]
        help_ = "if it was this that ended it, raise it, or let the gene do with less"
    else:
        found, help_ = [], ""
    return (f" ({', '.join(found)})", help_) if found else ("", None)


def timed_out(gene: str, seconds: float) -> RunTimedOut:
    """The error for a gene that was stopped because its time was over."""
    return RunTimedOut(
        f"gene '{gene}' did not answer within {seconds:g} s and was stopped",
        code="E0052",
        help="make it faster, or allow more with --time-limit SECONDS",
    )


def broken(gene: str, reason: object) -> RunError:
    """The error for a worker that says what the protocol does not have."""
    return RunError(f"gene '{gene}' broke the protocol: {reason}", code="E0052")


def is_shortage(error: BaseException) -> bool:
    """Whether there is no descriptor, process or memory now; it says nothing of the gene."""
    return isinstance(error, OSError) and error.errno in _SHORTAGES


def unserved(error: Exception) -> RunError:
    """The error for a worker that this process has no thread or descriptor for."""
    return RunError(
        f"cannot serve another worker: {error}",
        code="E0052",
        help="close agents that are not in use; see 'ulimit -n' and 'ulimit -u'",
    )


def _not_found(gene: str, folder: str, wanted: str, importer: str | None) -> GeneFailed:
    """What a gene imports and is not there: where it is asked for, and where it could be."""
    if wanted.startswith("/") and not wanted.startswith(folder.rstrip("/") + "/"):
        what = f"'{shown_path(wanted)}', which is outside the gene"
        help_ = "a gene imports its own files; copy the file into its folder"
    elif wanted.startswith(("/", ".")):
        what = f"'{wanted}', which is not there"
        help_ = "check the path and its spelling; './x' may stand for x.ts, x.js or x.json"
    else:
        what = f"the package '{wanted}', which is not installed"
        help_ = f"run 'npm install {wanted}' in the project's folder"
    return GeneFailed(
        f"gene '{gene}' imports {what}",
        code="E0052",
        where=shown_path(importer) if importer else None,
        help=help_,
    )


def _refused_by_node(gene: str, kind: str, resource: str | None, where: str | None) -> GeneFailed:
    """What a gene's process may not do, without Node's advice on flags that nobody can pass."""
    what = f"'{shown_path(resource)}'" if resource else "a part of Node"
    when = " while it was loaded" if kind == "load" else ""
    help_ = (
        "a gene may import its own files and the packages in the project's node_modules; "
        "it may not read other files, write any, or start processes"
    )
    if resource:
        help_ += "; grant it a file or folder with --allow-read PATH or --allow-write PATH"
        if not resource.startswith("/"):
            help_ += ", and let it name that by its absolute path: it works in no folder"
    return GeneFailed(
        f"gene '{gene}' was refused access to {what}{when}", code="E0052", where=where, help=help_
    )


def _clipped(value: object, limit: int) -> str:
    """The shim clips already; a gene may speak in its place."""
    return value[:limit] if isinstance(value, str) else ""


def _told(value: object) -> str | None:
    return value[:_MAX_TEXT] if isinstance(value, str) else None


def _thrown(name: str, text: str, stack: str) -> str:
    """What was thrown, so that a thrown string, null or undefined is told from an Error."""
    if name in {"null", "undefined", "unknown"}:
        return text if name == "unknown" else name
    if stack or name not in {
        "string",
        "number",
        "boolean",
        "bigint",
        "symbol",
        "object",
        "function",
    }:
        return f"{name}: {text}" if text else name
    if name == "string":
        return f"the string {text!r}"
    return f"the {name} {text}"


def _where(stack: str, folder: str) -> str | None:
    """``path:line:column`` of the first stack frame in the gene's own files."""
    import re

    prefix = folder.rstrip("/") + "/"
    for line in stack.split("\n"):
        frame = re.search(_FRAME, line) if len(line) < 4_096 else None
        if frame is None:
            continue
        path, line_number = frame[1] or frame[4], frame[2] or frame[5]
        if "%" in path:
            from urllib.parse import unquote

            path = unquote(path)
        if path.startswith(prefix):
            column = f":{frame[3]}" if frame[3] else ""
            return f"{shown_path(path)}:{line_number}{column}"
    return None
