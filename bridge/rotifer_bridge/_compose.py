"""How the genes of an agent work together in one run (projects §4)."""

from __future__ import annotations

from rotifer_bridge._runnable import agent_fault
from rotifer_bridge.errors import (
    AgentError,
    CompositionFailed,
    GeneError,
    RotiferError,
    RunError,
)
from rotifer_engine.quick import Protocol, dumps

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnNote

    Answer = tuple[bytes, Any]
    """A gene's answer, as JSON and as a value."""

__all__ = ["Genes", "compose"]


_AHEAD = 3  # genes whose Nodes start while one works: a start takes longer than most genes do
_OF_TWO = frozenset({"Cond", "Try"})
_COMPILED_ONLY = frozenset({"Par", *_OF_TWO})
_NO_ANSWER = (GeneError, RunError)  # of a gene that is there: one that is not ends every run


class Genes(Protocol):
    """What a composition can do with the agent's genes."""

    record: AgentRecord
    note: OnNote

    def domain(self, name: str) -> str:
        """The gene's domain; raises when there is no such gene or it cannot be run."""

    def compiled(self, name: str) -> bool:
        """Whether the gene runs as WASM here; raises as `domain` does."""

    def prepare(self, name: str) -> None:
        """See that the gene's process is on its way; does not wait."""

    def run(self, name: str, given: bytes) -> Answer:
        """The gene's answer."""

    def together(self, names: Sequence[str], given: bytes) -> list[Answer | GeneError | RunError]:
        """What compiled genes answer to one input, run at the same time, in their order."""

    def check_output(self, name: str, output: bytes) -> None:
        """Check an answer against the gene's outputSchema."""


def compose(genes: Genes, given: bytes) -> Any:
    """Run an agent's genes as its composition says and give the output.

    Args:
        genes: the genes.
        given: the input, as JSON.

    Raises:
        AgentError: the genome is empty.
        CompositionFailed: a TryPool's domain, or no branch of a Par, gave an answer.
        RunError: a gene gave no answer.
    """
    record = genes.record
    kind = record.composition["type"]
    fault = agent_fault(record)
    if fault is not None:
        raise AgentError(fault[0], code="E0053", where=record.path, help=fault[1])
    if kind == "TryPool":
        return _try_pools(genes, given)
    # Fewer than two genes are Single, whatever the record calls it.
    if kind in _COMPILED_ONLY and len(record.genome) > 1:
        if all(genes.compiled(name) for name in record.genome):
            return _compiled(genes, kind, given)
        genes.note(
            f"{kind}: not every gene is compiled, so all {len(record.genome)} genes run "
            "in order, each one's output the next one's input"
        )
    return _in_order(genes, given)


def _in_order(genes: Genes, given: bytes) -> Any:
    """Every gene, each one's output the next one's input: Single, Seq, and what is not compiled."""
    genome = genes.record.genome
    value: Any = None
    genes.prepare(genome[0])
    for index, name in enumerate(genome):
        _start(genes, genome[index + 1 : index + 1 + _AHEAD])
        given, value = genes.run(name, given)
    genes.check_output(genome[-1], given)
    return value


def _start(genes: Genes, later: Sequence[str]) -> None:
    """Let the Nodes of later genes start while this one works.

    What is wrong with the next gene is said before this one runs; with one after it, in its time.
    """
    for distance, name in enumerate(later):
        try:
            genes.prepare(name)
        except RotiferError:
            if distance == 0:
                raise
            return


def _compiled(genes: Genes, kind: str, given: bytes) -> Any:
    genome = genes.record.genome
    if kind == "Par":
        return _par(genes, given)
    if len(genome) > 2:
        genes.note(f"{kind} has two branches: of {len(genome)} genes only the first two are used")
    if kind == "Cond":
        from rotifer_bridge._json import parse_json
        from rotifer_bridge._predicate import holds

        predicate = genes.record.composition.get("predicate", {})
        return _one(genes, genome[0 if holds(predicate, parse_json(given)) else 1], given)
    try:
        return _one(genes, genome[0], given)
    except _NO_ANSWER as error:
        # The fallback is told of the failure and has to make do with it: it is no warning.
        _note_unusable(genes, error)
        return _one(genes, genome[1], _after_failure(genome[0], error, given))


def _one(genes: Genes, name: str, given: bytes) -> Any:
    """The answer of the gene that it came down to."""
    genes.prepare(name)
    text, value = genes.run(name, given)
    genes.check_output(name, text)
    return value


def _par(genes: Genes, given: bytes) -> Any:
    """Every gene with the same input at the same time; what becomes of the answers is the merge.

    Every branch runs to its end, whatever becomes of the others: what it wrote into the memory is
    the same whoever is faster [ours].
    """
    genome = genes.record.genome
    outcomes = genes.together(genome, given)
    if genes.record.composition.get("merge", "first") == "first":
        for name, outcome in zip(genome, outcomes, strict=True):
            if not isinstance(outcome, _NO_ANSWER):
                genes.check_output(name, outcome[0])
                return outcome[1]
            _note_unusable(genes, outcome)
        whys = [found.message for found in outcomes if isinstance(found, _NO_ANSWER)]
        _fail(genes, "no branch gave an answer: " + "; ".join(whys))
    answers: list[Answer] = []
    for outcome in outcomes:  # the first error in the order of the branches [ours], not of time
        if isinstance(outcome, _NO_ANSWER):
            raise outcome
        answers.append(outcome)
    for name, (text, _) in zip(genome, answers, strict=True):
        genes.check_output(name, text)
    return {f"branch_{number}": value for number, (_, value) in enumerate(answers)}


def _note_unusable(genes: Genes, error: GeneError | RunError) -> None:
    """Say of a gene that is passed over why it cannot be made ready: it will be so every time."""
    if isinstance(error, GeneError):
        genes.note(error.message)


def _after_failure(name: str, error: GeneError | RunError, given: bytes) -> bytes:
    """What the fallback of a Try gets; the words of ``error`` are ours, its fields are not."""
    from rotifer_bridge._failure import Refused
    from rotifer_bridge.errors import RunTimedOut

    told = {
        "code": "INVALID_INPUT" if isinstance(error, Refused) else error.code,
        "message": error.message,
        "retryable": isinstance(error, RunTimedOut),
        "details": {"gene": name},
    }
    return b'{"error":%b,"original_input":%b}' % (
        dumps(told).encode("ascii"),
        given,
    )


def _try_pools(genes: Genes, given: bytes) -> dict[str, Any]:
    """The genes by domain, one answer from each domain, the fittest first."""
    from rotifer_bridge._fitness import Fitness, load_fitness, record_fitness

    record = genes.record
    pools: dict[str, list[str]] = {}
    for name in dict.fromkeys(record.genome):  # every gene is looked at before any of them runs
        pools.setdefault(genes.domain(name), []).append(name)
    path = f"{record.path.rpartition('/')[0]}/{record.name}.fitness.json"
    fitness: Fitness = load_fitness(path, genes.note)
    outcomes: list[tuple[str, str, bool]] = []
    output: dict[str, Any] = {}
    failed: list[str] = []
    try:
        for domain, names in pools.items():
            whys = []
            for name in fitness.order(domain, names):
                try:
                    genes.prepare(name)
                    text, value = genes.run(name, given)
                except _NO_ANSWER as error:
                    _note_unusable(genes, error)
                    outcomes.append((domain, name, False))
                    whys.append(error.message)
                    continue
                outcomes.append((domain, name, True))
                genes.check_output(name, text)
                output[domain] = value
                break
            else:
                failed.append(f"{domain}: {'; '.join(whys)}")
    finally:
        if outcomes:
            record_fitness(path, outcomes, genes.note)
    if failed:
        reasons = "\n".join(failed)
        _fail(genes, f"no gene gave an answer for {reasons}")
    return output


def _fail(genes: Genes, why: str) -> NoReturn:
    raise CompositionFailed(
        f"agent '{genes.record.name}': {why}",
        code="E0053",
        help="--verbose says what each gene did",
    )
