"""An engine that breaks a rule fails the case that names it, through Python as through any door."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from rotifer_engine import AccessDenied, SqliteStore, _filter, _input, _ledger, _writing, parse_time
from rotifer_engine.conformance import cases, check


def clipping(value, _what, low, high):
    """A number that is out of its range is moved into it."""
    return min(max(int(value), low), high)


def lenient(text, _what, *, up):
    """A space will do for the T."""
    return parse_time(text.replace(" ", "T"), up=up)


def unrecorded(_self, _caller, _operation, reason, *_asked, **_within):
    """A refusal leaves no line."""
    raise AccessDenied(reason)


def forgiving(value, what, known, required=()):
    """A field that is not known is left out."""
    return {name: value[name] for name in value if name in known}


class Fault(NamedTuple):
    """What stands in the place of what, and the case that finds it."""

    owner: object
    name: str
    wrong: object
    case: str


FAULTS = {
    "clips a limit": Fault(_filter, "check_integer", clipping, "a filter may not have limit 1,001"),
    "takes other times": Fault(_filter, "parse_time", lenient, "a filter may not have since with a space"),
    "leaves fields out": Fault(_filter, "check_fields", forgiving, "a filter may not have an unknown field"),
    "lets everyone write": Fault(_writing, "allows", lambda *_: True, "a gene of another domain may not write and delete with writeScope SAME_DOMAIN"),
    "asks no data policy": Fault(_writing, "broken_data_policy", lambda *_: None, "an entry may not stay longer than the agent allows"),
    "shares without anonymization": Fault(_writing, "broken_data_policy", lambda *_: None, "KNOWLEDGE_GENE needs an agent that supports anonymization"),
    "records no refusal": Fault(_ledger.Ledger, "deny", unrecorded, "a denied call changes nothing"),
    "lets long keys in": Fault(_input, "MAX_KEY_BYTES", 4_096, "a key may not be 1,025 bytes"),
    "lets long values in": Fault(_input, "MAX_VALUE_BYTES", 2**21, "a value may not be 1,048,577 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_engine_fails_the_case_of_its_fault(name, tmp_path, monkeypatch):
    """The case by its name, and not the case of a rule that the fault leaves alone."""
    fault = FAULTS[name]
    chosen = [case for case in cases() if case.name in {fault.case, "a key may be a space"}]
    monkeypatch.setattr(fault.owner, fault.name, fault.wrong)

    report = check(lambda: SqliteStore(str(tmp_path / "memory.db"), durable=False), only=chosen)

    [cell] = report.cells
    assert 2 == cell.total
    assert [fault.case] == [failed.case.name for failed in cell.failed]
