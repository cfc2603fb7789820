"""What goes where: results to stdout, everything else to stderr (projects §3)."""

from __future__ import annotations

import os
import sys

from rotifer_bridge._text import lines
from rotifer_bridge.errors import UsageError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import TextIO

__all__ = [
    "OutputError",
    "error_text",
    "flush",
    "need_stdout",
    "note",
    "say",
    "say_json",
    "styled",
    "warn",
    "write_error",
]

stdout_was_closed = False
"""Whether stdout was closed at the start: what is written to it now goes nowhere."""

_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "help": "\x1b[36m", "note": "\x1b[2m"}
_PLAIN = "\x1b[0m"


class OutputError(Exception):
    """The result could not be written to stdout.

    Args:
        error: the system's.
        outcome: what became of it, where that is to be said.
    """

    def __init__(self, error: OSError, outcome: str | None = None) -> None:
        super().__init__("; ".join(filter(None, (error.strerror, outcome))))
        self.error = error


def need_stdout(what: str) -> None:
    """Refuse, before anything is done, what is of no use unless it is written to stdout.

    Args:
        what: the result, for the message: "the token".

    Raises:
        UsageError: stdout was closed at the start.
    """
    if stdout_was_closed:
        raise UsageError(
            f"stdout is closed, and {what} would go nowhere",
            help="give the command a stdout: a file (> FILE) or a pipe",
        )


def flush() -> None:
    """Have written what was said until now.

    Raises:
        BrokenPipeError: whoever read stdout has closed it.
        OutputError: it cannot be written, for any other reason.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from None


def say(text: str, *, end: str = "\n") -> None:
    """A line of the result.

    Args:
        text: the line.
        end: what stands after it.

    Raises:
        BrokenPipeError: whoever read stdout has closed it.
        OutputError: it cannot be written, for any other reason.
    """
    try:
        print(text, end=end)  # noqa: T201 - this is the command line
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error) from None


def say_json(value: object) -> None:
    """A result that is JSON, indented for people; it stays JSON whatever stdout's encoding is.

    Args:
        value: what JSON can hold.

    Raises:
        BrokenPipeError: whoever read stdout has closed it.
        OutputError: it cannot be written, for any other reason.
    """
    from rotifer_bridge._text import json_for_people

    say(json_for_people(value, sys.stdout.encoding or "utf-8"))


def note(text: str) -> None:
    """A line that is not the result: on stderr, made safe for the terminal."""
    _to_stderr(lines(text))


def warn(text: str) -> None:
    """A warning: the command goes on."""
    _to_stderr(f"{styled('warning', sys.stderr)}: {lines(text)}")


def write_error(rendered: str) -> None:
    """A rendered error, its first word and its help colored where colors are wanted."""
    first, *rest = lines(rendered).split("\n")
    if first.startswith("error"):
        head, colon, tail = first.partition(":")
        first = styled("error", sys.stderr, head) + colon + tail
    rest = [
        styled("help", sys.stderr) + line[4:] if line.startswith("help:") else line for line in rest
    ]
    _to_stderr("\n".join([first, *rest]))


def error_text(error: Exception) -> str | None:
    """The text of an error of the engine; None for what is none of ours."""
    # Not imported for its name alone: without the engine there is no such error.
    engine = sys.modules.get("rotifer_engine.errors")
    if engine is None or not isinstance(error, engine.AgentMemoryError):
        return None
    return f"error[{error.code}]: {error.message}"


def styled(kind: str, stream: TextIO, word: str | None = None) -> str:
    """The word in the color of its kind, where the stream is a terminal that has colors."""
    word = kind if word is None else word
    if _has_colors(stream):
        return f"{_STYLES[kind]}{word}{_PLAIN}"
    return word


def _has_colors(stream: TextIO) -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def _to_stderr(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line
    except OSError:
        return  # nobody reads it; the exit code still tells
