"""The list of deliberate faults fits the engine as it is; `make mutations` sees that all are found."""

from __future__ import annotations

import os

import pytest
from tests.mutations.faults import FAULTS

import rotifer_engine

ENGINE = os.path.dirname(rotifer_engine.__file__)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.rule for fault in FAULTS])
def test_each_fault_fits_the_code(fault):
    """What it replaces stands there once, and with the replacement it is still a program."""
    with open(os.path.join(ENGINE, fault.module), encoding="utf-8") as file:
        text = file.read()

    assert 1 == text.count(fault.text)
    compile(text.replace(fault.text, fault.replacement), fault.module, "exec", dont_inherit=True)


def test_there_are_enough_and_no_two_are_the_same():
    """At least thirty, each of another rule."""
    assert 30 <= len(FAULTS) == len({fault.rule for fault in FAULTS})
    assert len(FAULTS) == len({(f.module, f.text, f.replacement) for f in FAULTS})
