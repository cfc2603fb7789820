"""The value of an argument that was not given."""

from __future__ import annotations

import copy
import pickle

from rotifer_engine import ABSENT, Absent


def test_there_is_one_instance():
    """Making, copying and pickling it gives the same object."""
    assert Absent() is ABSENT
    assert copy.deepcopy(ABSENT) is ABSENT
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT


def test_it_is_false_and_no_null():
    """It is falsy, names itself, and is not None."""
    assert (False, "ABSENT", False) == (bool(ABSENT), repr(ABSENT), ABSENT is None)
