"""``rotifer agent memory check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._agent_memory import open_memory
from rotifer_bridge._cli._output import say
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_engine import Report

__all__ = ["command"]


def _check(name: str, as_json: bool) -> int:
    with open_memory(name) as memory:
        report = memory.check()
    if as_json:
        document = {
            "ok": report.ok,
            "findings": [finding._asdict() for finding in report.findings],
            "entries": report.entries,
            "usageBytes": report.size,
            "auditLines": report.lines,
            "foreignLines": report.foreign_lines,
            "foreignLineNumbers": list(report.foreign_numbers),
            "otherDatabaseLines": report.other_lines,
            "tornLines": report.torn_lines,
            "logWhole": report.log_whole,
        }
        say(dumps(document))
    else:
        _print(report)
    return 0 if report.ok else 1


def _print(report: Report) -> None:
    from rotifer_bridge._text import printable

    for finding in report.findings:
        say(printable(str(finding)))
    found = len(report.findings)
    say("no findings" if not found else "1 finding" if found == 1 else f"{found:,} findings")
    if report.entries == report.lines == 0 and found:
        return  # what could not be opened was not looked at
    say("checked: the database, its tables and their references")
    entries = "1 entry" if report.entries == 1 else f"{report.entries:,} entries"
    say(f"checked: {entries}, {report.size:,} bytes of keys and values")
    aside = [
        f"{count:,} {what}"
        for count, what in (
            (report.foreign_lines, f"of other programs: {_numbers(report)}"),
            (report.other_lines, "about another database"),
            (report.torn_lines, "left half written by a killed process; no change was made of it"),
        )
        if count
    ]
    if report.lines and not report.log_whole:
        aside.append("it was rotated, so older entries are not in it")
    say(
        f"checked: {report.lines:,} lines of the audit log"
        + (f" ({'; '.join(aside)})" if aside else "")
    )


def _numbers(report: Report) -> str:
    shown = ", ".join(f"{number:,}" for number in report.foreign_numbers)
    more = report.foreign_lines > len(report.foreign_numbers)
    return f"{'lines' if report.foreign_lines > 1 else 'line'} {shown}{' ...' if more else ''}"


command = click.Command(
    "check",
    callback=_check,
    help=(
        "Look for what should not be: in the database, in an agent's entries, and in the audit "
        "log against them.\n\n"
        "One line for each finding, with the remedy; the exit code is 1 when there is one. "
        "Nothing is changed."
    ),
    short_help="Check an agent's memory and its records.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
    ],
)
