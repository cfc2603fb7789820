"""``rotifer test``: what it tests, and how the outcomes are shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rotifer_bridge._cli._agent_run import log_line
from rotifer_bridge._cli._grant_options import GRANT_FLAGS, grant_options, granted
from rotifer_bridge._cli._output import flush, note, say, styled, warn, write_error
from rotifer_bridge._text import lines, printable, table
from rotifer_bridge.errors import GeneError, RotiferError, UsageError
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_bridge._project import Project
    from rotifer_bridge._report import Outcome, Report

__all__ = ["command"]

_POLL = 0.3  # seconds between two looks at the files, with --watch
_WORDS = {"passed": "ok", "failed": "FAIL", "skipped": "skip"}


class _Options:
    """What was asked for."""

    def __init__(self, **given: Any) -> None:
        self.grants = {name: given[name] for name in GRANT_FLAGS}
        self.verbose = given["verbose"]
        self.compliance = given["compliance"]
        self.scaffold = given["scaffold"]
        self.as_json = given["as_json"]
        self.trust_unsigned = given["trust_unsigned"]


def _test(gene: str | None, watch: bool, **given: Any) -> int:
    from rotifer_bridge._project import Project

    options = _Options(**given)
    project = Project.find()
    if not watch:
        return _once(project, gene, options)
    if options.as_json:
        raise UsageError("--watch never ends, so it gives no --json document")
    from rotifer_bridge._examine import NO_PHENOTYPE
    from rotifer_bridge._names import check_gene_name
    from rotifer_bridge._watch import wait_for_change

    if gene is not None:  # what is no name may lead anywhere, and would be looked through
        check_gene_name(gene, code=NO_PHENOTYPE)
    while True:
        seen = wait_for_change(project, gene, None)
        try:
            _once(project, gene, options)
        except RotiferError as error:
            write_error(error.render())
        note("waiting for a change; Ctrl-C ends")
        flush()
        wait_for_change(project, gene, seen, every=_POLL)


def _once(project: Project, gene: str | None, options: _Options) -> int:
    """Test one gene, or all; the exit code."""
    names = project.gene_names() if gene is None else [gene]
    reports: list[Report] = []
    for name in names:
        if options.scaffold:
            _scaffold(project, name)
        reports.append(_one(project, name, options, required=gene is not None))
    passed = all(_passed(report, options) for report in reports)
    if options.as_json:
        found = [report.to_json(passed=_passed(report, options)) for report in reports]
        document = found[0] if gene is not None else {"passed": passed, "genes": found}
        say(dumps(document))
    elif gene is None:
        if reports:
            say("")
            rows = [_row(report, passed=_passed(report, options)) for report in reports]
            say(table(["Gene", "Checks", "Cases", "Property", "Result"], rows))
        else:
            note("no genes to test; rotifer wrap makes a folder of code a gene")
    return 0 if passed else 1


def _one(project: Project, name: str, options: _Options, *, required: bool) -> Report:
    from rotifer_bridge._examine import examine

    if not options.as_json:
        say(f"{printable(name)}")

    def tell(outcome: Outcome) -> None:
        if not options.as_json:
            _show(outcome, verbose=options.verbose)

    report = examine(
        project,
        name,
        required=required,
        trust_unsigned=options.trust_unsigned,
        grants=granted(project, options.grants),
        on_outcome=tell,
        on_log=log_line if options.verbose else lambda *_: None,
        on_note=warn,
    )
    if not options.as_json:
        say(f"  memory: {report.memory_note}")
        if options.compliance:
            lacking = report.lacking()
            say(f"  compliance: {'not met: ' + '; '.join(lacking) if lacking else 'met'}")
        say(f"  {_summary(report, passed=_passed(report, options))}")
    return report


def _show(outcome: Outcome, *, verbose: bool) -> None:
    """One line for an outcome, and what to know of it below."""
    word = _WORDS[outcome.status]
    mark = styled("error", sys.stdout, word) if outcome.status == "failed" else word
    subject = outcome.name
    if outcome.part == "check":
        subject = f"{outcome.number} {outcome.name}"
    elif outcome.part == "case":
        subject = f"case {outcome.number} ({outcome.name})"
    text = f"{subject}: {outcome.message}" if outcome.message else subject
    used = "" if outcome.fuel is None else f", {outcome.fuel:,} fuel"
    took = f" ({outcome.duration_ms:.1f} ms{used})" if verbose else ""
    say(f"  {mark}{' ' * (4 - len(word))}  {lines(text)}{took}")
    if outcome.where:
        say(f"         --> {lines(outcome.where)}")
    if outcome.help:
        say(f"        help: {lines(outcome.help)}")


def _passed(report: Report, options: _Options) -> bool:
    return report.passed and not (options.compliance and report.lacking())


def _summary(report: Report, *, passed: bool) -> str:
    counts = {
        status: sum(outcome.status == status for outcome in report.outcomes) for status in _WORDS
    }
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"{'passed' if passed else 'FAILED'}: {told}"


def _row(report: Report, *, passed: bool) -> list[str]:
    cells = [report.gene]
    for part in ("check", "case"):
        found = [outcome for outcome in report.of(part) if outcome.status != "skipped"]
        good = sum(outcome.status == "passed" for outcome in found)
        cells.append(f"{good}/{len(found)}" if found else "-")
    cells.append(next((_WORDS[found.status] for found in report.of("property")), "-"))
    return [*cells, "passed" if passed else "FAILED"]


def _scaffold(project: Project, name: str) -> None:
    """Write a first suite; a gene that is not fit for one is told of by its test."""
    from rotifer_bridge._sample import generated_input
    from rotifer_bridge._suite import write_suite
    from rotifer_bridge._text import shown_path

    try:
        gene = project.gene(name)
        path = write_suite(gene.folder, generated_input(gene.phenotype["inputSchema"]))
    except GeneError:
        return
    if path is None:
        note(f"gene '{gene.name}' has a testsuite.json already; it was left as it is")
    else:
        note(f"wrote {shown_path(path)}: give its case an expectedOutput, and add cases")


command = click.Command(
    "test",
    callback=_test,
    help=(
        "Test a gene: whether it is whole and runs, then its testsuite.json. Without a gene, test "
        "all of the project.\n\n"
        "The gene has a memory of the test's own, empty at first and gone afterwards; no agent's "
        "memory and no record is touched. The exit code is 1 if anything failed."
    ),
    short_help="Test a gene, or all.",
    params=[
        click.Argument(["gene"], required=False),
        click.Option(
            ["--verbose"], is_flag=True, help="Show what the gene prints, and what each part took."
        ),
        click.Option(
            ["--compliance"],
            is_flag=True,
            help="Fail unless a positive case, a negative case and the property passed.",
        ),
        click.Option(
            ["--scaffold"], is_flag=True, help="Write a first testsuite.json where there is none."
        ),
        click.Option(
            ["--json", "as_json"], is_flag=True, help="Print one JSON document: all outcomes."
        ),
        click.Option(["--watch"], is_flag=True, help="Test again whenever a file changes."),
        click.Option(
            ["--trust-unsigned"],
            is_flag=True,
            help="Run genes that were installed from outside under Node, too.",
        ),
        *grant_options(),
    ],
)
