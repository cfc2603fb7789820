"""Agent records, ``.rotifer/agents/<id>.json`` (projects §3).

A record may have been written by the reference, by hand, or half by an editor that crashed. It is
read by what it is, checked on every read, and one bad record does not hide the good ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from rotifer_bridge._composition import parse_composition
from rotifer_bridge._files import TooManyFiles, list_folder, read_regular, write_atomic
from rotifer_bridge._grants import Grants, parse_grants
from rotifer_bridge._json import NotJSON, dump_pretty, parse_json
from rotifer_bridge._names import check_gene_name, did_you_mean, is_safe_agent_name, shown, typed
from rotifer_bridge.errors import AgentError, GeneError, ProjectError, RotiferError, UsageError
from rotifer_engine import (
    DEFAULT_DATA_POLICY,
    DEFAULT_QUOTA_BYTES,
    MAX_QUOTA_BYTES,
    DataPolicy,
    InvalidInput,
)
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AgentRecord",
    "FaultyRecord",
    "NameTaken",
    "duplicate_names",
    "find_record",
    "load_record",
    "new_record",
    "record_paths",
    "records",
    "save_record",
    "unreadable",
]

RECORD_LIMIT = 4 * 1024 * 1024
_UUID = [8, 4, 4, 4, 12]  # hex digits between its dashes
_REMEDY = "correct the record by hand, or move it out of the folder"


class AgentRecord(NamedTuple):
    """One agent, as its record has it; ``document`` is the whole of it, unknown fields too."""

    id: str
    name: str
    state: str
    genome: tuple[str, ...]
    composition: dict[str, Any]
    strategy: str
    created_at: str
    memory_quota_bytes: int
    data_policy: DataPolicy
    grants: Grants
    document: dict[str, Any]
    path: str


class FaultyRecord(AgentError):
    """A record that cannot be used; whose it is, where it says so."""

    def __init__(self, error: RotiferError, path: str, name: str | None) -> None:
        super().__init__(error.message, where=path, help=error.help or _REMEDY)
        self.name = name
        """None where it cannot be read, or names nobody."""


class NameTaken(AgentError):
    """A new agent's name that another one has, if only in a record that cannot be used."""


def new_record(
    agent_id: str,
    name: str,
    genome: list[str],
    composition: dict[str, Any],
    *,
    strategy: str,
    created_at: str,
    memory_quota_bytes: int,
) -> dict[str, Any]:
    """The JSON object of a new agent."""
    return {
        "id": agent_id,
        "name": name,
        "state": "Active",
        "genome": genome,
        "composition": composition,
        "strategy": strategy,
        "createdAt": created_at,
        "reputation": 0,
        "memoryQuotaBytes": memory_quota_bytes,
        "dataPolicy": DEFAULT_DATA_POLICY.to_json(),
    }


def save_record(agents_dir: str, document: dict[str, Any]) -> AgentRecord:
    """Write a record, whole or not at all, readable by its owner only.

    Raises:
        AgentError: `load_record` would refuse it.
        ProjectError: it cannot be written.
    """
    path = os.path.join(agents_dir, f"{document['id']}.json")
    record = _parse(document, path)
    write_atomic(path, dump_pretty(document))
    return record


def load_record(path: str) -> AgentRecord:
    """The record in this file.

    Raises:
        FaultyRecord: it is damaged, or says something that an agent may not have.
        AgentError: it is gone.
        TooManyFiles: it cannot be opened now.
    """
    try:
        document = parse_json(read_regular(path, RECORD_LIMIT))
    except FileNotFoundError:
        raise AgentError("the agent's record is gone", where=path) from None
    except TooManyFiles:
        raise
    except ProjectError as error:
        raise FaultyRecord(error, path, None) from None
    except NotJSON as error:
        fault = AgentError(f"the agent's record {error.told}")
        raise FaultyRecord(fault, path, None) from None
    try:
        return _parse(document, path)
    except AgentError as error:
        name = document.get("name") if isinstance(document, dict) else None
        raise FaultyRecord(error, path, name if isinstance(name, str) else None) from None


def record_paths(agents_dir: str) -> list[str]:
    """The files that are meant to be records, sorted; the TryPool's fitness files are none."""
    return [
        os.path.join(agents_dir, name)
        for name in list_folder(agents_dir)
        if name.endswith(".json")
        and not name.endswith(".fitness.json")
        and not name.startswith(".")
    ]


def records(agents_dir: str) -> Iterator[AgentRecord | RotiferError]:
    """Every record, or in its place the error that says why it is none."""
    for path in record_paths(agents_dir):
        try:
            yield load_record(path)
        except RotiferError as error:
            yield error


def find_record(agents_dir: str, name: str) -> AgentRecord:
    """The one agent of this name.

    Raises:
        AgentError: there is none (E0050), more than one, or its record is faulty.
        ProjectError: the records cannot be read.
    """
    listed = list(records(agents_dir))
    found = [record for record in listed if isinstance(record, AgentRecord) and record.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise _same_name(found)
    for fault in listed:
        if isinstance(fault, TooManyFiles):
            raise fault
        if isinstance(fault, FaultyRecord) and fault.name == name:
            raise AgentError(
                f"the record of agent {shown(name)} is faulty: {fault.message}",
                code="E0050",
                where=fault.where,
                help=fault.help,
            )
    raise AgentError(
        f"agent {shown(name)} does not exist", code="E0050", help=_way_to(name, listed)
    )


def _way_to(name: str, listed: list[AgentRecord | RotiferError]) -> str:
    """What somebody does who asked for an agent that is not there."""
    names = [record.name for record in listed if isinstance(record, AgentRecord)]
    near = did_you_mean(name, names)
    if near:
        remedy = f"{near} 'rotifer agent list' lists the agents"
    else:
        remedy = f"create it: rotifer agent create {typed(name)} -g GENE"
        if names:
            remedy += "; 'rotifer agent list' lists the agents there are"
    unread = unreadable(listed)
    return f"{remedy} ({unread}: 'rotifer agent list' says why)" if unread else remedy


def unreadable(listed: list[AgentRecord | RotiferError]) -> str | None:
    """How many records do not even say whose they are, where there are any."""
    count = sum(isinstance(fault, FaultyRecord) and fault.name is None for fault in listed)
    if not count:
        return None
    return f"{'1 record' if count == 1 else f'{count:,} records'} could not be read"


def duplicate_names(found: list[AgentRecord]) -> list[AgentError]:
    """One error for each name that more than one record has."""
    by_name: dict[str, list[AgentRecord]] = {}
    for record in found:
        by_name.setdefault(record.name, []).append(record)
    return [_same_name(group) for group in by_name.values() if len(group) > 1]


def _same_name(found: list[AgentRecord]) -> AgentError:
    return AgentError(
        f"{len(found)} agents are named {shown(found[0].name)}: "
        + ", ".join(os.path.basename(record.path) for record in found),
        code="E0050",
        where=os.path.dirname(found[0].path),
        help="rename one of them in its record, or move it out of the folder",
    )


def _parse(document: object, path: str) -> AgentRecord:
    if not isinstance(document, dict):
        raise AgentError("the agent's record is not an object", where=path, help=_REMEDY)
    agent_id = _text(document, "id", path)
    # The id owns the memory: a copy under another file name would share or steal it.
    if agent_id.strip("0123456789abcdef-") or list(map(len, agent_id.split("-"))) != _UUID:
        raise AgentError(f"the id {shown(agent_id)} is no UUID", where=path, help=_REMEDY)
    if os.path.basename(path) != f"{agent_id}.json":
        raise AgentError(
            f"the record's id is {agent_id}; its file is named otherwise",
            where=path,
            help=_REMEDY,
        )
    name = document.get("name")
    if not is_safe_agent_name(name):
        raise AgentError(f"{shown(name)} is not an agent name", where=path, help=_REMEDY)
    genome = document.get("genome")
    if not isinstance(genome, list):
        raise AgentError("the genome is not a list of genes", where=path, help=_REMEDY)
    for gene in genome:
        try:
            check_gene_name(gene)
        except GeneError as error:
            raise AgentError(f"genome: {error.message}", where=path, help=error.help) from None
    return AgentRecord(
        id=agent_id,
        name=str(name),
        state=_text(document, "state", path, "Active"),
        genome=tuple(genome),
        composition=parse_composition(document.get("composition"), genome, path),
        strategy=_text(document, "strategy", path, "manual"),
        created_at=_text(document, "createdAt", path, ""),
        memory_quota_bytes=_quota(document.get("memoryQuotaBytes", DEFAULT_QUOTA_BYTES), path),
        data_policy=_data_policy(document.get("dataPolicy"), path),
        grants=_grants(document.get("grants"), path),
        document=document,
        path=path,
    )


def _text(document: dict[str, Any], field: str, path: str, default: str | None = None) -> str:
    value = document.get(field, default)
    if not isinstance(value, str):
        raise AgentError(f"{field} is not a string", where=path, help=_REMEDY)
    return value


def _quota(value: object, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_QUOTA_BYTES:
        return value
    raise AgentError(
        f"memoryQuotaBytes is not a whole number from 1 to {MAX_QUOTA_BYTES:,}",
        where=path,
        help=_REMEDY,
    )


def _data_policy(value: object, path: str) -> DataPolicy:
    if value is None:
        return DEFAULT_DATA_POLICY
    try:
        return DataPolicy.parse(value, "dataPolicy")
    except InvalidInput as error:
        raise AgentError(error.message, where=path, help=_REMEDY) from None


def _grants(value: object, path: str) -> Grants:
    try:
        return parse_grants(value)
    except UsageError as error:
        raise AgentError(error.message, where=path, help=error.help or _REMEDY) from None
