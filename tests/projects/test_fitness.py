"""The arithmetic of a TryPool's fitness (projects §4)."""

from __future__ import annotations

import pytest

from rotifer_bridge._fitness import Fitness


@pytest.mark.parametrize(
    ("before", "turns", "after"),
    [
        (None, "+", 0.55),
        (None, "-", 0.35),
        (0.1, "-", 0.0),
        (0.98, "+", 1.0),
        (0.5, "++-", 0.45),
        (0.5, "----+", 0.05),
        (0.15, "-", 0.0),
    ],
)
def test_each_turn_moves_it_within_bounds(before, turns, after):
    """0.5 at first, +0.05 for an answer, -0.15 for none, never under 0 or over 1."""
    start = Fitness({} if before is None else {"g": before}, {}, {})

    moved = start.after([("d", "g", turn == "+") for turn in turns])

    assert {"g": after} == moved.genes
    assert ({"d": "g"} if "+" in turns else {}) == moved.active


def test_equally_fit_genes_keep_their_order():
    """Ties go by the genome; an active gene that is not in the pool changes nothing."""
    fitness = Fitness({"a": 0.5, "c": 0.6}, {"d": "gone"}, {})

    assert ["c", "a", "b"] == fitness.order("d", ["a", "b", "c"])
