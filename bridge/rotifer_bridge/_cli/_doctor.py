"""``rotifer doctor``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import say
from rotifer_engine.quick import dumps

__all__ = ["command"]


def _doctor(as_json: bool) -> int:
    from rotifer_bridge._doctor import examine
    from rotifer_bridge._text import printable

    checks = examine()
    failed = any(check.status == "fail" for check in checks)
    if as_json:
        document = {"ok": not failed, "checks": [check._asdict() for check in checks]}
        say(dumps(document))
    else:
        room = max(len(check.name) for check in checks)
        for check in checks:
            say(f"{check.status:<4}  {check.name:<{room}}  {printable(check.detail)}")
            if check.status != "ok" and check.help:
                say(f"      help: {printable(check.help)}")
    return 1 if failed else 0


command = click.Command(
    "doctor",
    callback=_doctor,
    help=(
        "Look at everything a run needs: Python, Node, the project, its private files, and the "
        "programs that fence genes in.\n\n"
        "One line for each check: ok, warn (something works with less, or an agent cannot run) or "
        "fail; what to do stands below. The exit code is 1 when one fails."
    ),
    short_help="Look at everything a run needs.",
    params=[
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            help='Print {"ok": ..., "checks": [{"name", "status", "detail", "help"}]}.',
        )
    ],
)
