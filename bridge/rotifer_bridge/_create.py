"""Making an agent (projects §3): everything is judged first, the record is written last."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._composition import make_composition, parse_composition
from rotifer_bridge._files import lock_folder
from rotifer_bridge._gene import Gene, load_gene
from rotifer_bridge._grants import NO_GRANTS, Grants
from rotifer_bridge._handover import handover_warnings
from rotifer_bridge._names import NAME_LIMIT, check_agent_name, check_domain, shown
from rotifer_bridge._now import now_text
from rotifer_bridge._record import (
    AgentRecord,
    FaultyRecord,
    NameTaken,
    new_record,
    save_record,
    unreadable,
)
from rotifer_bridge._runnable import gene_fault, memory_fault
from rotifer_bridge.errors import AgentError, GeneError, RotiferError, UsageError
from rotifer_engine import (
    DEFAULT_QUOTA_BYTES,
    MAX_QUOTA_BYTES,
    AgentMemoryError,
    DataPolicy,
    parse_quota,
)

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["TOP", "Created", "Picked", "change_agent", "create_agent", "pick_genes"]

TOP = 2  # how many genes are picked when nobody says


class Created(NamedTuple):
    """A new or changed agent's record, and what a person should know about it."""

    record: AgentRecord
    warnings: list[str]


class Picked(NamedTuple):
    """Genes that nobody named."""

    genes: list[str]
    of: int
    """How many there were to pick from."""
    unreadable: list[str]
    """A line for each gene that cannot be read."""


def create_agent(
    project: Project,
    name: str,
    genes: Sequence[str],
    *,
    composition: str | dict[str, Any] = "Seq",
    par_merge: str = "first",
    memory_quota: int | str | None = None,
    strategy: str = "manual",
    grants: Grants = NO_GRANTS,
) -> Created:
    """Write the record of a new agent; see `Project.create_agent` for the arguments.

    Raises:
        RotiferError: a name, a gene or an option is refused; nothing was written.
    """
    check_agent_name(name)
    _check_list(genes)
    loaded = [load_gene(project, gene, code="E0040") for gene in genes]
    genome = [gene.name for gene in loaded]
    wanted = _composition(composition, genome, par_merge)
    quota = DEFAULT_QUOTA_BYTES if memory_quota is None else _quota(memory_quota)
    project.make_state_dirs()
    granted = {"grants": grants.to_json()} if grants else {}
    # Two processes that create the same name at once: one of them must see the other's record.
    with lock_folder(project.agents_dir):
        doubts = _refuse_duplicate(project, name)
        record = save_record(
            project.agents_dir,
            new_record(
                str(uuid.uuid4()),
                name,
                genome,
                wanted,
                strategy=strategy,
                created_at=now_text(),
                memory_quota_bytes=quota,
            )
            | granted,
        )
    return Created(record, doubts + _warnings(loaded, wanted["type"]))


def change_agent(
    project: Project,
    name: str,
    *,
    genes: Sequence[str] | None = None,
    composition: str | dict[str, Any] | None = None,
    par_merge: str | None = None,
    memory_quota: int | str | None = None,
    data_policy: object = None,
    grants: Grants | None = None,
) -> Created:
    """Give an agent other genes, composition, quota, data policy or grants; None leaves each.

    The memory is the agent's: it stays, and the new genes find what the old ones left.

    Raises:
        RotiferError: nothing to change, or a part is refused; the record is as it was.
    """
    parts = (genes, composition, par_merge, memory_quota, data_policy, grants)
    if all(part is None for part in parts):
        raise UsageError(
            "nothing to change",
            help="name other genes, a composition, a memory quota, a data policy or grants",
        )
    if genes is not None:
        _check_list(genes)
    project.make_state_dirs()
    with lock_folder(project.agents_dir):
        record = project.record(name)
        loaded = [load_gene(project, gene) for gene in genes or record.genome]
        genome = [gene.name for gene in loaded]
        document = {**record.document, "genome": genome}
        if genes is not None or composition is not None or par_merge is not None:
            document["composition"] = _recomposed(record, genome, composition, par_merge)
        if genes is not None:
            document["strategy"] = "manual"
        if memory_quota is not None:
            document["memoryQuotaBytes"] = _quota(memory_quota)
        if data_policy is not None:
            document["dataPolicy"] = _data_policy(data_policy)
        if grants:
            document["grants"] = grants.to_json()
        elif grants is not None:
            document.pop("grants", None)  # as in the record of an agent that never had any
        record = save_record(project.agents_dir, document)
    return Created(record, _warnings(loaded, record.composition["type"]))


def pick_genes(project: Project, domain: str | None = None, top: int = TOP) -> Picked:
    """The first ``top`` genes of a domain, or of all.

    Compiled genes come first, as the reference ranks them, then by name **[ours]**: there is no
    arena here whose scores could rank them.

    Raises:
        UsageError: no gene of that domain, or ``top`` is not positive.
    """
    if top < 1:
        raise UsageError(f"--top is {top}; it must be at least 1")
    if domain is not None:
        check_domain(domain)
    found: list[Gene] = []
    unreadable = []
    for name in project.gene_names():
        try:
            gene = load_gene(project, name)
        except RotiferError as error:
            unreadable.append(f"{shown(name)} is left out: {error.message}")
            continue
        if domain is None or gene.domain == domain:
            found.append(gene)
    if not found:
        of_domain = f" of domain {shown(domain)}" if domain else ""
        raise GeneError(
            f"the project has no gene{of_domain}",
            code="E0040",
            where=project.genes_dir,
            help="name the genes with -g, or wrap one with that domain",
        )
    found.sort(key=lambda gene: (not gene.compiled, gene.name))
    return Picked([gene.name for gene in found[:top]], len(found), unreadable)


def _check_list(genes: Sequence[str]) -> None:
    if isinstance(genes, str):
        raise UsageError(
            f"the genes are a string; a list of names is needed: [{genes[:NAME_LIMIT]!r}]"
        )
    if not genes:
        raise UsageError("an agent needs at least one gene", help='name it: ["hello-world"]')


def _composition(
    wanted: str | dict[str, Any], genome: Sequence[str], par_merge: str
) -> dict[str, Any]:
    if isinstance(wanted, str):
        return make_composition(wanted, genome, merge=par_merge)
    try:
        parsed = parse_composition(wanted, genome, "composition")
    except AgentError as error:
        raise UsageError(error.message, help=error.help) from None
    return make_composition(
        parsed["type"],
        genome,
        merge=parsed.get("merge", par_merge),
        predicate=parsed.get("predicate"),
    )


def _recomposed(
    record: AgentRecord,
    genome: list[str],
    composition: str | dict[str, Any] | None,
    par_merge: str | None,
) -> dict[str, Any]:
    """The composition of changed genes: what is not named is as before."""
    before = record.composition
    merge = par_merge or before.get("merge", "first")
    if composition is not None:
        return _composition(composition, genome, merge)
    return make_composition(before["type"], genome, merge=merge, predicate=before.get("predicate"))


def _quota(wanted: int | str) -> int:
    if isinstance(wanted, str):
        try:
            return parse_quota(wanted)
        except AgentMemoryError as error:
            raise UsageError(error.message) from None
    if isinstance(wanted, bool) or not 1 <= wanted <= MAX_QUOTA_BYTES:
        raise UsageError(f"memory quota is {wanted} bytes; it must be 1 to {MAX_QUOTA_BYTES:,}")
    return wanted


def _data_policy(wanted: object) -> dict[str, object]:
    try:
        return DataPolicy.parse(wanted, "dataPolicy").to_json()
    except AgentMemoryError as error:
        raise UsageError(error.message) from None


def _refuse_duplicate(project: Project, name: str) -> list[str]:
    """Refuse a name that a record bears, a faulty one too; what is not known for sure."""
    listed = list(project.records())
    for record in listed:
        if isinstance(record, AgentRecord) and record.name == name:
            raise NameTaken(
                f"an agent named {shown(name)} exists already",
                where=record.path,
                help=f"'rotifer agent set {name}' changes it, 'rotifer agent delete {name}' "
                "deletes it with all that it remembers; or choose another name",
            )
        if isinstance(record, FaultyRecord) and record.name == name:
            raise NameTaken(
                f"an agent named {shown(name)} exists already, and its record is faulty: "
                f"{record.message}",
                where=record.where,
                help=f"{record.help}; or choose another name",
            )
    unread = unreadable(listed)
    if unread is None:
        return []
    return [f"{unread}, so an agent may have this name already: 'rotifer agent list' says why"]


def _warnings(genes: list[Gene], kind: str) -> list[str]:
    # Compiled branches each get the input, so their neighbors never meet; TryPool's never do.
    in_order = kind == "Seq" or (
        kind in {"Par", "Cond", "Try"} and not all(gene.compiled for gene in genes)
    )
    warnings = [note for gene in genes for note in gene.notes]
    faults = [*map(gene_fault, genes), *map(memory_fault, genes)]
    warnings += [f"{fault}; {remedy}" for fault, remedy in filter(None, faults)]
    if in_order:
        warnings += handover_warnings(genes)
    if kind in {"Par", "Cond", "Try"} and in_order:
        warnings.append(
            f"{kind} with a gene that is not compiled: 'agent run' runs every gene in order"
        )
    return list(dict.fromkeys(warnings))
