"""What a test of a gene found (projects §5)."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Outcome", "Report"]


class Outcome(NamedTuple):
    """What became of one check, one case, or the property."""

    part: str
    """``check``, ``suite``, ``case`` or ``property``."""
    number: int
    """Of the check or the case; 0 for what is alone."""
    name: str
    status: str
    """``passed``, ``failed`` or ``skipped``."""
    message: str | None = None
    where: str | None = None
    help: str | None = None
    duration_ms: float = 0.0
    fuel: int | None = None
    """What the runs of a compiled gene used; None where none ran."""

    def to_json(self) -> dict[str, Any]:
        """As the document of ``test --json`` has it."""
        found: dict[str, Any] = {"number": self.number} if self.number else {}
        found["kind" if self.part == "case" else "name"] = self.name
        found["status"] = self.status
        for name in ("message", "where", "help"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        found["durationMs"] = self.duration_ms
        if self.fuel is not None:
            found["fuel"] = self.fuel
        return found


class Report(NamedTuple):
    """All that was found of one gene."""

    gene: str
    outcomes: list[Outcome]
    memory: bool
    """Whether the gene's memory calls were carried out, in a memory of the test's own."""
    memory_note: str

    @property
    def passed(self) -> bool:
        """Whether nothing failed; what was skipped is fine."""
        return all(outcome.status != "failed" for outcome in self.outcomes)

    def lacking(self) -> list[str]:
        """What keeps the suite from being met: of each kind, one must have passed."""
        passed = {
            (outcome.part, outcome.name) for outcome in self.outcomes if outcome.status == "passed"
        }
        wanted = {
            ("case", "positive"): "no positive case passed",
            ("case", "negative"): "no negative case passed",
            ("property", "property"): "the property did not pass",
        }
        return [words for kind, words in wanted.items() if kind not in passed]

    def of(self, part: str) -> list[Outcome]:
        """The outcomes of one part."""
        return [outcome for outcome in self.outcomes if outcome.part == part]

    def to_json(self, *, passed: bool) -> dict[str, Any]:
        """The document that ``test GENE --json`` prints.

        Args:
            passed: whether the gene has passed, by what was asked for.
        """
        return {
            "gene": self.gene,
            "passed": passed,
            "memory": {"available": self.memory, "reason": self.memory_note},
            "checks": [outcome.to_json() for outcome in self.of("check")],
            "suite": {
                "met": not self.lacking(),
                "faults": [outcome.to_json() for outcome in self.of("suite")],
                "cases": [outcome.to_json() for outcome in self.of("case")],
                "property": next((found.to_json() for found in self.of("property")), None),
            },
        }
