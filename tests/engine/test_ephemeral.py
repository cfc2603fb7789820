"""The memory of a gene's test: the same rules, on no disk."""

from __future__ import annotations

import os
import threading

import pytest
from tests.held import given_back

from rotifer_engine import AccessDenied, Caller, EphemeralMemory, QuotaExceeded, StorageError

GENE = Caller("v2:" + "a" * 64, "code")


@pytest.fixture
def memory():
    """An empty one."""
    with EphemeralMemory() as found:
        yield found


def test_it_begins_empty_and_remembers(memory):
    """What one call writes, the next one reads."""
    assert [] == memory.query(GENE)
    memory.write(GENE, "k", b"v", "CONTEXT")
    assert b"v" == memory.read(GENE, "k").value
    memory.delete(GENE, "k")
    assert memory.read(GENE, "k") is None


def test_the_rules_are_those_of_every_memory(memory):
    """Identity, scopes and quota are judged as anywhere."""
    memory.write(GENE, "k", b"v", "PREFERENCE")

    with pytest.raises(AccessDenied):
        memory.read(Caller(None, "code"), "k")
    with pytest.raises(AccessDenied):
        memory.read(Caller("v2:" + "b" * 64, "other"), "k")
    with pytest.raises(QuotaExceeded):
        for number in range(11):
            memory.write(GENE, f"big{number}", bytes(1_048_576), "PREFERENCE")


def test_two_are_apart(memory):
    """Another one of the same process sees nothing of it."""
    memory.write(GENE, "k", b"v", "CONTEXT")
    with EphemeralMemory() as other:
        assert other.read(GENE, "k") is None


def test_threads_come_and_go(memory):
    """What a thread wrote outlives it: a gene's worker may be started anew within a test."""
    for number in range(3):
        thread = threading.Thread(target=memory.write, args=(GENE, f"k{number}", b"v", "CONTEXT"))
        thread.start()
        thread.join()

    assert 3 == len(memory.query(GENE))


def test_nothing_is_on_a_disk(memory, tmp_path, monkeypatch):
    """No file is made where it works, and the process has none open that it had not before."""
    monkeypatch.chdir(tmp_path)
    with EphemeralMemory() as other:
        with given_back():
            other.write(GENE, "k", bytes(100_000), "CONTEXT")
        with pytest.raises(AccessDenied):
            other.read(Caller(None, None), "k")

    assert [] == os.listdir(tmp_path)


def test_closed_is_closed(memory):
    """A call after the end is an error, not a new memory."""
    memory.close()
    with pytest.raises(StorageError):
        memory.read(GENE, "k")
