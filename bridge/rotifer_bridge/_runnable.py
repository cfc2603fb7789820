"""What can be known to stop a run before it is started: told when an agent is made, and by doctor.

Each rule gives a sentence and a remedy, or None where nothing stands in the way.
"""

from __future__ import annotations

from rotifer_bridge._names import shown, typed

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._record import AgentRecord

__all__ = ["agent_fault", "calls_fault", "gene_fault", "memory_fault"]

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
        return None if _wasmtime_is_there() else _no_wasmtime(gene)
    if gene.entry is None:
        help_ = "write index.ts (or index.js, index.mjs) with an 'express' function"
        if gene.compiled:
            help_ = "it is WASM alone, and runs without --no-sandbox"
        elif "gene.wasm" in gene.files:
            help_ = f"make a gene of its module: rotifer compile {gene.name}"
        return f"gene {shown(gene.name)} has no source", help_
    return None


def calls_fault(gene: Gene) -> Fault | None:
    """Why a compiled gene has no memory call to make: TypeScript that was compiled has none."""
    if not gene.compiled:
        return None
    from rotifer_bridge._gene import COMPILED
    from rotifer_bridge._wasm_binary import NotWasm, read_layout

    try:
        imports = read_layout(gene.files[COMPILED]).imports
    except NotWasm as error:
        return f"its {COMPILED} is no WASM module: {error}", "compile it anew"
    if any(found.module == "rotifer" and found.name.endswith("Memory") for found in imports):
        return None
    return (
        f"gene {shown(gene.name)} is compiled and imports no memory call: it gets its input only",
        "a TypeScript gene that needs memory stays under Node",
    )


def _wasmtime_is_there() -> bool:
    """Whether the extra is installed, without importing it: that takes a tenth of a second."""
    from importlib.util import find_spec

    try:
        return find_spec("wasmtime") is not None
    except (ImportError, ValueError):  # something in this process keeps it from being imported
        return False


def _no_wasmtime(gene: Gene) -> Fault:
    way_out = " or run its source under Node with --no-sandbox" if gene.entry else ""
    return (
        f"gene {shown(gene.name)} is compiled to WASM, and wasmtime is not installed",
        f"pip install 'rotifer-bridge[wasm]'{way_out and ',' + way_out}",
    )


def memory_fault(gene: Gene) -> Fault | None:
    """Why every memory call of this gene is denied."""
    if gene.v2_id is None:
        return (
            f"gene {shown(gene.name)} was never wrapped: it has no identity, so no memory",
            f"run 'rotifer wrap {gene.name}'",
        )
    return None
