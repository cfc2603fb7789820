"""How the genes of an agent work together in one run (projects §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rotifer_bridge._runnable import agent_fault
from rotifer_bridge.errors import AgentError, CompositionFailed, RunError

if TYPE_CHECKING:
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnNote, Step

__all__ = ["Turns", "compose"]

_IN_ORDER = frozenset({"Par", "Cond", "Try"})


class Turns(Protocol):
    """What a composition can do with the agent's genes."""

    record: AgentRecord
    steps: list[Step]
    note: OnNote

    def domain(self, name: str) -> str:
        """The gene's domain; raises when there is no such gene or it cannot be run."""

    def prepare(self, name: str) -> None:
        """See that the gene's process is on its way; does not wait."""

    def run(self, name: str, given: bytes) -> tuple[bytes, Any]:
        """The gene's answer, as JSON and as a value; a step is added, also when it fails."""

    def check_output(self, name: str, output: bytes) -> None:
        """Check an answer against the gene's outputSchema."""


def compose(turns: Turns, given: bytes) -> Any:
    """Run an agent's genes as its composition says and give the output.

    Args:
        turns: the genes.
        given: the input, as JSON.

    Raises:
        AgentError: the genome is empty.
        CompositionFailed: a TryPool's domain gave no answer.
        RunError: a gene gave no answer.
    """
    record = turns.record
    kind = record.composition["type"]
    fault = agent_fault(record)
    if fault is not None:
        raise AgentError(fault[0], code="E0053", where=record.path, help=fault[1])
    if kind == "TryPool":
        return _try_pools(turns, given)
    if kind in _IN_ORDER and len(record.genome) > 1:
        turns.note(
            f"{kind}: not every gene is compiled, so all {len(record.genome)} genes run "
            "in order, each one's output the next one's input"
        )
    return _in_order(turns, given)


def _in_order(turns: Turns, given: bytes) -> Any:
    """Every gene, each one's output the next one's input: Single, Seq, and what is not compiled."""
    genome = turns.record.genome
    value: Any = None
    turns.prepare(genome[0])
    for index, name in enumerate(genome):
        if index + 1 < len(genome):
            turns.prepare(genome[index + 1])  # its Node starts while this gene works
        given, value = turns.run(name, given)
    turns.check_output(genome[-1], given)
    return value


def _try_pools(turns: Turns, given: bytes) -> dict[str, Any]:
    """The genes by domain, one answer from each domain, the fittest first."""
    from rotifer_bridge._fitness import Fitness, load_fitness, record_fitness

    record = turns.record
    pools: dict[str, list[str]] = {}
    for name in dict.fromkeys(record.genome):  # every gene is looked at before any of them runs
        pools.setdefault(turns.domain(name), []).append(name)
    path = f"{record.path.rpartition('/')[0]}/{record.name}.fitness.json"
    fitness: Fitness = load_fitness(path, turns.note)
    outcomes: list[tuple[str, str, bool]] = []
    output: dict[str, Any] = {}
    failed: list[str] = []
    try:
        for domain, names in pools.items():
            whys = []
            for name in fitness.order(domain, names):
                turns.prepare(name)
                try:
                    text, value = turns.run(name, given)
                except RunError as error:
                    outcomes.append((domain, name, False))
                    whys.append(error.message)
                    continue
                outcomes.append((domain, name, True))
                turns.check_output(name, text)
                output[domain] = value
                break
            else:
                failed.append(f"{domain}: {'; '.join(whys)}")
    finally:
        if outcomes:
            record_fitness(path, outcomes, turns.note)
    if failed:
        reasons = "\n".join(failed)
        failure = CompositionFailed(
            f"agent '{record.name}': no gene gave an answer for {reasons}",
            code="E0053",
            help="--verbose says what each gene did",
        )
        failure.steps = turns.steps
        raise failure
    return output
