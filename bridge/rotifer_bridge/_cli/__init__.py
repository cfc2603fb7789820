"""The command line: parsing, printing, exit codes. What the commands do lies in the modules above.

`run` is the one way in. ``agent run`` is parsed by hand, because importing click takes as long as
Node takes to start; everything else, and every mistake, goes through click.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)


if TYPE_CHECKING:
    from rotifer_bridge._launch import Launched

__all__ = ["run"]


def run(argv: list[str], launched: Launched | None = None) -> int:
    """Run one command and give its exit code; nothing is left unsaid and no traceback shown.

    Args:
        argv: the arguments after the program's name.
        launched: a worker's process that was started already, for ``agent run``; owned from here.
    """
    from rotifer_bridge._cli._guard import guarded

    if argv[:2] == ["agent", "run"]:
        from rotifer_bridge._cli._agent_run import parse, perform

        options = parse(argv[2:])
        if options is not None:
            return guarded(lambda: perform(options, launched))
    if launched is not None:
        from rotifer_bridge._launch import discard

        discard(launched)
    from rotifer_bridge._cli._app import invoke

    return guarded(lambda: invoke(argv))
