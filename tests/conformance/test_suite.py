"""The suite itself: what it asks, and that our own store passes it."""

from __future__ import annotations

import os
import re
from collections import Counter

import pytest

from rotifer_engine import ERROR_CODES, SqliteStore
from rotifer_engine._audit import ACTIONS
from rotifer_engine.conformance import SCENARIOS, cases, check, scenario
from rotifer_engine.conformance._report import explain
from rotifer_engine.conformance._steps import DOMAINS, Refusal
from rotifer_engine.layers import LAYER_ERRORS

PAGE = (os.pardir, os.pardir, "docs", "commands.md")


def test_the_scenarios_are_as_large_as_promised():
    """At least 150 cases in the main scenario and 40 in the one on expiry."""
    assert ["main", "expiry"] == list(SCENARIOS)
    assert len(scenario("main")) >= 150
    assert len(scenario("expiry")) >= 40


def test_no_two_cases_have_one_name():
    """A name says which case it is."""
    assert [] == [name for name, count in Counter(case.name for case in cases()).items() if count > 1]  # fmt: skip


@pytest.mark.parametrize("section", range(2, 12))
def test_every_section_of_the_rules_is_asked_about(section):
    """The memory's sections 2 to 11 each have cases."""
    assert any(f"memory §{section}" in case.rule for case in cases())


def test_every_case_names_its_rule():
    """A section, and what it says."""
    wrong = [c.name for c in cases() if not re.match(r"(memory|layers|wasm-genes) §\d+\b.{3,}", c.rule)]  # fmt: skip

    assert [] == wrong


def test_the_cases_meet_every_error_action_and_role():
    """All codes but that of a broken store, all actions of the log on entries, all genes."""
    steps = [step for case in cases() for step in case.steps]
    lines = {line.action for step in steps for group in step.lines for line in group}
    broken = {"abandoned", "continued", "erase", "torn"}
    on_entries = {name.removeprefix("memory.") for name in ACTIONS if "layer" not in name}
    codes = {step.answer.code for step in steps if isinstance(step.answer, Refusal)}

    assert {*ERROR_CODES, *LAYER_ERRORS} - {"MEMORY_STORAGE_ERROR"} == codes
    assert on_entries - broken == lines
    assert {*DOMAINS, "deployer"} <= {step.who for step in steps}


def test_few_cases_cannot_be_said_at_a_door():
    """What a door cannot say is an exception, with a reason; Python can say all."""
    beyond = Counter(door for case in cases() for door in case.not_through)

    assert all(len(reason) > 20 for case in cases() for reason in case.not_through.values())
    assert len(cases()) / 8 > max(beyond.values())
    assert {"node", "wasm", "http"} == set(beyond)


def test_the_page_has_the_figures_of_the_suite():
    """docs/commands.md shows what the command prints."""
    count = len(cases())
    beyond = sum("node" in case.not_through for case in cases())
    with open(os.path.join(os.path.dirname(__file__), *PAGE), encoding="utf-8") as file:
        page = file.read()

    assert f"python x sqlite: {count} / {count}\n" in page
    assert (
        f"node x sqlite:   {count - beyond} / {count - beyond}  ({beyond} not applicable)\n" in page
    )


def test_our_store_passes(tmp_path):
    """SQLite through Python: every case, and nothing is unequal."""
    report = check(lambda: SqliteStore(str(tmp_path / "memory.db"), durable=False), name="sqlite")

    [cell] = report.cells
    assert [] == [explain(failed, "") for failed in cell.failed]
    assert len(cases()) == cell.total == cell.passed
    assert report.ok
    assert [] == report.first_difference()
    assert {
        "cells": [{"door": "python", "store": "sqlite", "passed": cell.total, "total": cell.total}],
        "equal": True,
    } == report.to_json()


def test_a_store_may_hold_agents_already(tmp_path):
    """The cases' agents are their own: those that were there stay as they were."""
    from rotifer_engine import AgentMemory, AuditLog, Caller, Telemetry

    path = str(tmp_path / "memory.db")
    audit = AuditLog(str(tmp_path / "audit.jsonl"))
    telemetry = Telemetry(str(tmp_path / "telemetry.jsonl"))
    gene = Caller("v2:" + "a" * 64, "code")
    with SqliteStore(path, durable=False) as store:
        before = AgentMemory(store, "mine", audit=audit, telemetry=telemetry)
        kept = before.write(gene, "k", b"1", "CACHE")

    report = check(lambda: SqliteStore(path, durable=False), only=scenario("main")[:20])

    with SqliteStore(path, durable=False) as store:
        after = AgentMemory(store, "mine", audit=audit, telemetry=telemetry)
        assert report.ok
        assert [kept] == after.query(gene)
    audit.close()
    telemetry.close()
