"""From an exception to a message on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from rotifer_bridge._cli._output import OutputError, error_text, write_error
from rotifer_bridge._text import printable
from rotifer_bridge.errors import RotiferError

__all__ = ["FAILED", "INTERRUPTED", "Terminated", "guarded"]

FAILED = 1  # projects §3: every failure exits 1 unless said
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_TERMINATED = 143  # 128 + SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, as an exception: for a command that has something to tidy up."""


def guarded(command: Callable[[], int]) -> int:
    """Run the command; what it raises becomes a message and an exit code.

    A closed stdout ends quietly: whoever closed it has seen enough.
    """
    # What the terminal's encoding lacks is shown escaped, never a crash.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = _explained(command)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        code = 0
    except (OSError, OutputError) as error:
        _abandon_stdout()
        failed = error if isinstance(error, OutputError) else OutputError(error)
        help_ = _remedy_of(failed.error)
        write_error(f"error: cannot write the output: {failed}\nhelp: {help_}")
        code = FAILED
    return code


def _explained(command: Callable[[], int]) -> int:
    try:
        return command()
    except RotiferError as error:
        write_error(error.render())
    except KeyboardInterrupt as word:
        return _TERMINATED if isinstance(word, Terminated) else INTERRUPTED
    except RecursionError:
        write_error("error: a value is nested too deeply to be handled")
    except MemoryError:
        write_error(
            "error: there is not enough memory for this command"
            "\nhelp: the limits are in 'ulimit -v' and 'ulimit -d'; smaller inputs need less"
        )
    except (
        ImportError
    ) as error:  # much is imported late, perhaps when no file can be opened anymore
        write_error(
            f"error: a part of the program could not be loaded: {printable(str(error))}"
            "\nhelp: see 'ulimit -n' where few files may be open; else install rotifer-bridge again"
        )
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        where = f"\n --> {error.filename}" if isinstance(error.filename, str) else ""
        write_error(f"error: {error.strerror or error}{where}\nhelp: {_remedy_of(error)}")
    except Exception as error:
        text = error_text(error)
        if text is None:
            raise
        write_error(text)
    return FAILED


def _remedy_of(error: OSError) -> str:
    try:
        from rotifer_engine import remedy_of
    except (ImportError, OSError):  # no file can be opened anymore
        return "see 'ulimit -n'"
    return remedy_of(error)


def _abandon_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush cannot fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
    finally:
        os.close(null)
