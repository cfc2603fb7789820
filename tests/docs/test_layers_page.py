"""The page on the layers has the tables that are in force, whole, and no others."""

from __future__ import annotations

import inspect
import re

from tests.docs.test_docs import first_cells, page, section

from rotifer_bridge._sensor import MOST_FILES, sense
from rotifer_engine import layers
from rotifer_engine._audit import ACTIONS
from rotifer_engine._filter import MAX_ANSWER_BYTES, MAX_LIMIT
from rotifer_engine.layers import KINDS, LAYER_ERRORS, LAYERS, LIMITS, Layers
from rotifer_engine.layers._layers import DEFAULT_LIMIT
from rotifer_engine.layers._record import LayerRecord, LayerRow

PAGE = "docs/layers.md"


def rows(title):
    """The cells of each row of a section's table, without its head."""
    lines = [line for line in section(PAGE, title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_seven_are_those_of_the_table():
    """Number, scope, owner, whose memory, and who writes and sees it."""
    owners = {True: "required", False: "none", None: ""}
    readers = {
        "cell": "everyone in the cell",
        "actor": "that actor",
        "namespace": "that actor; see [namespaces](#namespaces)",
        "session": "that actor, in that session",
    }
    expected = [
        [
            layer.number or "",
            f"`{name}`",
            f"`{layer.scope}`" if layer.scope else "any other",
            owners[layer.owner] + (", plus a namespace" if layer.namespaced else ""),
            "yes" if layer.users_memory else "no",
            layer.writer_said,
            readers[layer.readers],
        ]
        for name, layer in LAYERS.items()
    ]
    found = rows("The seven")
    found[-1][-1] = found[-1][-1].partition(";")[0]  # and how those of nobody are counted

    assert expected == found


def test_the_errors_are_those_of_the_code():
    """Each code with its class and its meaning."""
    expected = [[f"`{code}`", f"`{error.__name__}`", error.meaning] for code, error in LAYER_ERRORS.items()]  # fmt: skip

    assert expected == [[code, name, said.removesuffix(" **[ours]**")] for code, name, said in rows("Errors")]  # fmt: skip


def test_the_kinds_are_those_of_the_table():
    """With their durability and what they are for."""
    expected = [[f"`{name}`", "durable" if kind.durable else "ephemeral", kind.meaning] for name, kind in KINDS.items()]  # fmt: skip

    assert expected == rows("Kinds")


def test_limits_and_figures_are_those_in_force():
    """Every limit by its name, and the figures of a page."""
    assert [[f"`{name}`", f"{limit:,}"] for name, limit in LIMITS.items()] == rows("Limits")
    assert f"1 to {MAX_LIMIT:,}, default {DEFAULT_LIMIT}" in section(PAGE, "Reading")
    assert f"more than {MAX_ANSWER_BYTES:,} bytes" in section(PAGE, "Reading")
    assert f"{MOST_FILES:,} names" in section(PAGE, "The environment")


def test_the_facts_are_those_that_are_sensed(bench):
    """All of them, in their order."""
    bench.gene("a")

    assert list(sense(bench.project()).facts) == first_cells(section(PAGE, "The environment"))


def test_every_call_and_public_name_is_explained():
    """The methods of `Layers` and the names of the package that a reader needs."""
    text = section(PAGE, "In Python")
    calls = [name for name, _ in inspect.getmembers(Layers, inspect.isfunction) if name[0] != "_"]

    assert sorted(calls) == sorted(re.findall(r"^\| `\.(\w+)\(", text, re.MULTILINE))
    named = set(re.findall(r"\b(?:[A-Z]\w+|[a-z]+_\w+)\b", page(PAGE))) & set(layers.__all__)
    inner = {"LAYER_ERROR_STATUS", "Kind", "Layer", "LayerStore", "LayerTransaction", "StoreWithLayers", "refuse_conflict", "require_actor", "all_memory_layers"}  # fmt: skip
    assert set(layers.__all__) - inner <= named


def test_the_audit_page_has_the_fields_of_these_lines():
    """Those that other lines do not have, in the section of their own."""
    line = re.findall(r'"(\w+)":', LayerRecord("memory.layer_create", "save", LayerRow(*["x"] * 7, 1)).to_line("", ""))  # fmt: skip
    text = section("docs/audit.md", "Lines about layers")
    shared = {"ts", "action", "operation", "entry_id", "key", "size", "change_id", "result", "code"}

    assert [name for name in line if name not in shared] == first_cells(text)
    assert all(f"`{name}`" in text for name in shared)
    assert {"memory.layer_create", "memory.layer_update", "memory.layer_delete"} == {name for name in ACTIONS if "layer" in name}  # fmt: skip
