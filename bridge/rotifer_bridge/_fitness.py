"""How well the genes of a TryPool have done so far (projects §4).

``.rotifer/agents/<name>.fitness.json`` **[ours: its form]**::

    {"fitness": {"gene": 0.55}, "active": {"domain": "gene"}}

The active gene of a domain is the one that answered last; it goes first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._files import lock_folder, read_regular, write_atomic
from rotifer_bridge._json import NotJSON, dump_pretty, parse_json
from rotifer_bridge.errors import ProjectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rotifer_bridge._result import OnNote

__all__ = ["BETTER", "START", "WORSE", "Fitness", "load_fitness", "record_fitness"]

START = 0.5
BETTER = 0.05
WORSE = -0.15

_LIMIT = 4 * 1024 * 1024


class Fitness(NamedTuple):
    """What the file says; ``document`` is the whole of it, unknown fields too."""

    genes: dict[str, float]
    active: dict[str, str]
    document: dict[str, Any]

    def order(self, domain: str, names: Sequence[str]) -> list[str]:
        """The genes of a domain in the order in which they are tried.

        The active one first, then by falling fitness; equally fit ones as the genome has them.
        """
        active = self.active.get(domain)
        return sorted(names, key=lambda name: (name != active, -self.genes.get(name, START)))

    def after(self, outcomes: Iterable[tuple[str, str, bool]]) -> Fitness:
        """The fitness once these turns (domain, gene, whether it answered) have been taken."""
        genes, active = dict(self.genes), dict(self.active)
        for domain, name, answered in outcomes:
            moved = genes.get(name, START) + (BETTER if answered else WORSE)
            genes[name] = round(min(1.0, max(0.0, moved)), 4)  # 0.1 + 0.2 is not 0.3
            if answered:
                active[domain] = name
        return Fitness(genes, active, self.document)


def load_fitness(path: str, note: OnNote) -> Fitness:
    """The fitness in this file; a file that is damaged is said, and counts as none.

    Raises:
        ProjectError: a link, or something else that is no file, stands in its place.
    """
    try:
        document = parse_json(read_regular(path, _LIMIT))
    except FileNotFoundError:
        return Fitness({}, {}, {})
    except NotJSON as error:
        note(f"{path} is not JSON ({error}): the genes' fitness starts anew")
        return Fitness({}, {}, {})
    if not isinstance(document, dict):
        note(f"{path} is not an object: the genes' fitness starts anew")
        return Fitness({}, {}, {})
    genes, active = document.get("fitness"), document.get("active")
    return Fitness(
        {name: min(1.0, max(0.0, value)) for name, value in _items(genes) if _is_number(value)},
        {domain: name for domain, name in _items(active) if isinstance(name, str)},
        document,
    )


def record_fitness(path: str, outcomes: list[tuple[str, str, bool]], note: OnNote) -> None:
    """Count the turns in; what another process counted meanwhile stays. A failure is a note."""
    try:
        with lock_folder(os.path.dirname(path)):
            genes, active, document = load_fitness(path, _unsaid).after(outcomes)
            write_atomic(path, dump_pretty({**document, "fitness": genes, "active": active}))
    except (ProjectError, OSError) as error:
        note(f"the genes' fitness could not be kept in {path}: {error}")


def _items(value: object) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unsaid(_: str) -> None:
    """It was said when the file was read for the run."""
