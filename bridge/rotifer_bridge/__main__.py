"""The command ``rotifer``."""

from __future__ import annotations

import os
import sys
from _signal import signal  # type: ignore[import-not-found]

__all__ = ["main"]

_SIGINT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # `signal` without its enums: Node is not started yet.
    signal(_SIGINT, _interrupted)
    try:
        _open_standard_streams()
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = _INTERRUPTED
    # Everything has been written and closed; the interpreter's own teardown takes 3-28 ms more.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = code or 1
    except KeyboardInterrupt:
        code = _INTERRUPTED
    os._exit(code)


def _interrupted(*_: object) -> None:
    """End at once, and leave nothing running.

    An exception would do for most moments; raised while a module is imported it can be lost.
    """
    end_all = getattr(sys.modules.get("rotifer_bridge._launch"), "end_all", None)
    if end_all is not None:  # not there, or half imported: nothing has been started
        end_all()
    os._exit(_INTERRUPTED)


def _run(argv: list[str]) -> int:
    launched = None
    if argv[:2] == ["agent", "run"] and not {"-h", "--help"} & set(argv):
        from rotifer_bridge._early import launch_early

        launched = launch_early(argv[2:])
    from rotifer_bridge._cli import run

    return run(argv, launched)


def _open_standard_streams() -> None:
    """Put the null device where a standard stream was closed: nothing else may take its number."""
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
            setattr(sys, name, open(fd, mode, encoding="utf-8"))  # noqa: SIM115 - for good
            if name == "stdout":
                from rotifer_bridge._cli import _output

                _output.stdout_was_closed = True


if __name__ == "__main__":
    main()
