"""What is known of a gene: for ``list`` and ``info`` (projects §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._identity import content_id
from rotifer_bridge._runnable import calls_fault, gene_fault, memory_fault

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene

__all__ = ["GeneFacts", "gene_facts"]


class GeneFacts(NamedTuple):
    """One gene, as a person wants to see it."""

    name: str
    version: str
    domain: str
    fidelity: str
    gene_id: str
    v2_id: str | None
    source: str | None
    compiled: bool
    installed: bool
    memory: bool
    """Whether it has memory when an agent of this version runs it."""
    why: str
    """Why it has memory, or has none."""

    def to_json(self) -> dict[str, Any]:
        """The document that ``info --json`` prints."""
        return {
            "name": self.name,
            "version": self.version,
            "domain": self.domain,
            "fidelity": self.fidelity,
            "geneId": self.gene_id,
            "geneIdV2": self.v2_id,
            "source": self.source,
            "compiled": self.compiled,
            "installed": self.installed,
            "memory": {"available": self.memory, "reason": self.why},
        }


def gene_facts(gene: Gene) -> GeneFacts:
    """The facts of this gene."""
    # A gene that is not run remembers nothing; one that is run, but has no identity, neither.
    fault = gene_fault(gene) or memory_fault(gene) or calls_fault(gene)
    if fault:
        why = f"{fault[0]}; {fault[1]}"
    else:
        way = (
            "it runs as WASM: the functions of module 'rotifer'"
            if gene.compiled
            else "its source runs under Node: ctx.memory"
        )
        why = f"{way} in an agent's run, none under 'rotifer run'"
    return GeneFacts(
        name=gene.name,
        version=gene.phenotype["version"],
        domain=gene.domain,
        fidelity=gene.fidelity,
        gene_id=content_id(gene.phenotype),
        v2_id=gene.v2_id,
        source=gene.entry,
        compiled=gene.compiled,
        installed=gene.installed,
        memory=fault is None,
        why=why,
    )
