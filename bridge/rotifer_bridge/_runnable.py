"""What can be known to stop a run before it is started: told when an agent is made, and by doctor.

Each rule gives a sentence and a remedy, or None where nothing stands in the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_bridge._names import shown, typed

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._record import AgentRecord

__all__ = ["agent_fault", "gene_fault", "memory_fault"]

Fault = tuple[str, str]


def agent_fault(record: AgentRecord) -> Fault | None:
    """Why no run of this agent gives an answer, as its record alone has it."""
    if not record.genome:
        return (
            f"agent {shown(record.name)} has an empty genome",
            f"give it genes: rotifer agent set {typed(record.name)} -g GENE",
        )
    return None


def gene_fault(gene: Gene, *, sandbox: bool = True) -> Fault | None:
    """Why this gene is not run.

    Args:
        gene: the gene.
        sandbox: False runs the source of a compiled gene under Node.
    """
    if gene.compiled and sandbox:
        return (
            f"gene {shown(gene.name)} is compiled to WASM, which this version does not run",
            "run its source under Node with --no-sandbox",
        )
    if gene.entry is None:
        return (
            f"gene {shown(gene.name)} has no source",
            "write index.ts (or index.js, index.mjs) with an 'express' function",
        )
    return None


def memory_fault(gene: Gene) -> Fault | None:
    """Why every memory call of this gene is denied."""
    if gene.v2_id is None:
        return (
            f"gene {shown(gene.name)} was never wrapped: it has no identity, so no memory",
            f"run 'rotifer wrap {gene.name}'",
        )
    return None
