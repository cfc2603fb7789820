"""``rotifer agent set``: another genome, quota or data policy; the memory stays as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._agent_create import (
    COMPOSITION_HELP,
    PAR_MERGE_HELP,
    QUOTA_HELP,
    composition_value,
)
from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._genes_option import GenesCommand, genes_option
from rotifer_bridge._cli._grant_options import grant_options, granted
from rotifer_bridge._cli._output import say, warn
from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord

__all__ = ["command"]

_POLICY_LIMIT = 64 * 1024
_EXAMPLE = (
    'for example: {"maxRetentionDays": 30, "autoDeleteOnTermination": false, '
    '"anonymizationSupported": false}'
)


def _set(
    *,
    name: str,
    genes: tuple[str, ...],
    composition: str | None,
    par_merge: str | None,
    memory_quota: str | None,
    data_policy: str | None,
    revoke: bool,
    **given_grants: tuple[str, ...],
) -> None:
    from rotifer_bridge._create import change_agent
    from rotifer_bridge._project import Project
    from rotifer_bridge._text import printable
    from rotifer_engine import format_size

    project = Project.find()
    policy = None if data_policy is None else _read_policy(data_policy)
    before = None if policy is None else project.record(name)
    grants = None
    if revoke or any(given_grants.values()):
        grants = granted(project, given_grants)
        if not revoke:
            grants = project.record(name).grants + grants
    changed = change_agent(
        project,
        name,
        genes=genes or None,
        composition=None if composition is None else composition_value(composition),
        par_merge=par_merge,
        memory_quota=memory_quota,
        data_policy=policy,
        grants=grants,
    )
    for line in changed.warnings:
        warn(line)
    record = changed.record
    say(f"Agent '{record.name}' changed; its memory is as it was")
    say(f"  Genome        {', '.join(record.genome)} ({record.composition['type']})")
    say(f"  Memory quota  {format_size(record.memory_quota_bytes)}")
    for line in record.grants.lines():
        say(f"  Granted       {printable(line)}")
    if before is not None:
        say(f"  Data policy   {json.dumps(record.data_policy.to_json())}")
        for line in _sooner(project, before, record):
            say(line)


def _read_policy(file: str) -> object:
    """The JSON value of a file, or of the standard input."""
    from rotifer_bridge._json import NotJSON, parse_json

    where = None if file == "-" else file
    try:
        with open(0 if where is None else where, "rb", closefd=where is not None) as source:
            data = source.read(_POLICY_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"--data-policy: cannot read this: {(error.strerror or str(error)).lower()}",
            where=where,
            help=f"it takes a file, or - for standard input; {_EXAMPLE}",
        ) from None
    if len(data) > _POLICY_LIMIT:
        raise UsageError(f"--data-policy: it is over {_POLICY_LIMIT:,} bytes", where=where)
    try:
        value: object = parse_json(data)
    except NotJSON as error:
        raise UsageError(f"--data-policy {error.told}", where=where, help=_EXAMPLE) from None
    if value is None:
        raise UsageError("--data-policy: dataPolicy must be an object; got null", help=_EXAMPLE)
    return value


def _sooner(project: Project, before: AgentRecord, after: AgentRecord) -> Iterator[str]:
    """What a shorter time means for the entries that follow the agent, where there are any."""
    old, new = before.data_policy.max_retention_days, after.data_policy.max_retention_days
    if new is None or (old is not None and old <= new) or not project.remembers():
        return
    try:
        count, over = project.memory(before).followers(after.data_policy)
    finally:
        project.close()
    if count:
        yield f"  Entries that follow it and expire earlier now: {count:,}"
    if over:
        yield f"  Their time is over already, so the next call removes them: {over:,}"


command = GenesCommand(
    "set",
    callback=_set,
    help=(
        "Change an agent: its genes, their composition, its quota, its data policy, what its genes "
        "are granted. What is not named stays.\n\n"
        "The memory is the agent's, so it stays too; a smaller quota takes effect at the next "
        "write, a shorter retention at the next call."
    ),
    short_help="Change an agent's genes, quota or data policy.",
    params=[
        click.Argument(["name"]),
        genes_option("The new genes, in order."),
        click.Option(["--composition"], help=COMPOSITION_HELP),
        click.Option(["--par-merge"], help=PAR_MERGE_HELP),
        click.Option(["--memory-quota"], metavar="SIZE", help=QUOTA_HELP),
        click.Option(
            ["--data-policy"],
            type=FILE_NAME,
            metavar="FILE",
            help="A JSON file with maxRetentionDays, autoDeleteOnTermination and "
            "anonymizationSupported; - reads it from standard input.",
        ),
        *grant_options(),
        click.Option(
            ["--revoke-grants", "revoke"],
            is_flag=True,
            help="Take away all that the record grants, before what else is granted here.",
        ),
    ],
)
