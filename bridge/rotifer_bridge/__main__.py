"""The command ``rotifer``."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    launched = None
    if sys.argv[1:3] == ["agent", "run"] and not {"-h", "--help"} & set(sys.argv):
        from rotifer_bridge._early import launch_early

        launched = launch_early()
    from rotifer_bridge._cli import run

    code = run(sys.argv[1:], launched)
    # Everything has been written and closed; the interpreter's own teardown takes 3-28 ms more.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
