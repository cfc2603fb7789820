"""Agent records: read by what they are, written whole."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest

from rotifer_bridge import _files
from rotifer_bridge._record import find_record, load_record, record_paths, save_record
from rotifer_bridge.errors import AgentError, ProjectError
from rotifer_engine import DEFAULT_DATA_POLICY, DEFAULT_QUOTA_BYTES


def test_a_record_of_the_reference(bench):
    """A record without our fields gets their defaults."""
    record = load_record(bench.record(1, "keeper", ["a", "b"]))

    assert "keeper" == record.name
    assert ("a", "b") == record.genome
    assert DEFAULT_QUOTA_BYTES == record.memory_quota_bytes
    assert DEFAULT_DATA_POLICY == record.data_policy


def test_our_fields(bench):
    """Quota and data policy are read and checked."""
    policy = {
        "maxRetentionDays": 3,
        "autoDeleteOnTermination": True,
        "anonymizationSupported": False,
    }
    record = load_record(bench.record(1, memoryQuotaBytes=512, dataPolicy=policy))

    assert 512 == record.memory_quota_bytes
    assert (3, True, False) == record.data_policy


@pytest.mark.parametrize(
    ("genome", "composition", "kind"),
    [
        (["a"], None, "Single"),
        (["a", "b"], None, "Seq"),
        (["a", "b"], "Par", "Par"),
        (["a", "b"], {"type": "Cond"}, "Cond"),
        (["a", "b"], {"type": "TryPool", "x": 1}, "TryPool"),
    ],
)
def test_compositions(bench, genome, composition, kind):
    """An object, a bare word and none at all are compositions."""
    assert (
        kind
        == load_record(bench.record(1, genome=genome, composition=composition)).composition["type"]
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "x"}, "'x' is no UUID"),
        ({"id": None}, "id is not a string"),
        ({"id": "00000000-0000-4000-8000-000000000009"}, "its file is named otherwise"),
        ({"name": "../x"}, "'../x' is not an agent name"),
        ({"name": "\x1b[2J"}, r"'\x1b[2J' is not an agent name"),
        ({"name": None}, "null is not an agent name"),
        ({"genome": "a"}, "the genome is not a list"),
        ({"genome": ["a", "../../etc"]}, "genome: '../../etc' is not a gene name"),
        ({"genome": [None]}, "genome: null is not a gene name"),
        ({"composition": 3}, "composition is not an object"),
        ({"composition": {"type": "Loop"}}, "'Loop' is not a composition"),
        ({"composition": {"type": "Par", "merge": "x"}}, "'x' is not a merge"),
        ({"composition": {"type": "Cond", "predicate": {"op": "Like"}}}, "op 'Like' is none of"),
        ({"composition": {"type": "Cond", "predicate": []}}, "predicate is not an object"),
        ({"state": 1}, "state is not a string"),
        ({"memoryQuotaBytes": 0}, "memoryQuotaBytes is not a whole number"),
        ({"memoryQuotaBytes": True}, "memoryQuotaBytes is not a whole number"),
        ({"memoryQuotaBytes": "1MB"}, "memoryQuotaBytes is not a whole number"),
        ({"memoryQuotaBytes": 2**53}, "from 1 to 9,007,199,254,740,991"),
        ({"dataPolicy": {"maxRetentionDays": None}}, "dataPolicy"),
        ({"dataPolicy": []}, "dataPolicy"),
    ],
)
def test_records_that_are_refused(bench, fields, words):
    """What an agent may not have is refused on every read, and the file is named."""
    path = bench.record(1, **fields)

    with pytest.raises(AgentError) as caught:
        load_record(path)
    assert words in caught.value.message
    assert path == caught.value.where
    assert caught.value.help


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff", "[" * 5000])
def test_damaged_records(bench, text):
    """Half a file is one message, no stack."""
    path = bench.record(1)
    bench.put(os.path.relpath(path, bench.root), text.encode("latin-1"))

    with pytest.raises(AgentError, match=r"record (is not|cannot be read)"):
        load_record(path)


def test_a_record_that_is_a_link_is_refused(bench, tmp_path):
    """What stands elsewhere is not this project's agent."""
    path = bench.record(1)
    os.rename(path, tmp_path / "x.json")
    os.symlink(tmp_path / "x.json", path)

    with pytest.raises(AgentError, match="symbolic link"):
        load_record(path)


def test_what_is_no_record_is_not_read(bench):
    """The TryPool's fitness file, drafts and notes beside the records are none."""
    path = bench.record(1)
    for name in ("keeper.fitness.json", ".x.json", "notes.txt", "x.json.123.tmp"):
        bench.put(f".rotifer/agents/{name}", "{")

    assert [path] == record_paths(bench.project().agents_dir)


def test_found_by_name(bench):
    """The one of that name, whatever stands beside it."""
    bench.record(1, "other")
    bench.record(2, "keeper")
    bench.put(".rotifer/agents/damaged.json", "{")

    assert bench.project().record("keeper").id.endswith("2")


def test_not_found(bench):
    """The message says how to make it, and that a record could not be read."""
    bench.put(".rotifer/agents/damaged.json", "{")

    with pytest.raises(AgentError, match="'keeper' does not exist") as caught:
        bench.project().record("keeper")
    assert "E0050" == caught.value.code
    assert "rotifer agent create keeper" in caught.value.help
    assert "1 record could not be read" in caught.value.help


def test_a_slip_in_the_name(bench):
    """The name that was probably meant is told, and where all of them are."""
    bench.record(1, "greeter")

    with pytest.raises(AgentError, match="'greter' does not exist") as caught:
        bench.project().record("greter")
    assert "did you mean 'greeter'? 'rotifer agent list' lists the agents" == caught.value.help
    with pytest.raises(AgentError) as caught:
        bench.project().record("somebody-else")
    assert "rotifer agent create somebody-else -g GENE; 'rotifer agent list'" in caught.value.help


def test_a_faulty_record_is_not_taken_for_none(bench):
    """Whoever follows the remedy mends the agent, and makes no second one of its name."""
    path = bench.record(1, "greeter", dataPolicy={"maxRetentionDay": 7})

    with pytest.raises(AgentError) as caught:
        bench.project().record("greeter")
    assert "E0050" == caught.value.code
    assert path == caught.value.where
    assert caught.value.message.startswith(
        "the record of agent 'greeter' is faulty: dataPolicy has an unknown field"
    )
    assert "correct the record" in caught.value.help


def test_a_faulty_record_of_another_agent(bench):
    """It is not this one, so nothing is said of it; a record without a name may be anybody's."""
    bench.record(1, "other", genome="x")
    with pytest.raises(AgentError, match="'keeper' does not exist") as caught:
        bench.project().record("keeper")
    assert "could not be read" not in caught.value.help

    bench.record(2, None)
    with pytest.raises(AgentError, match="'keeper' does not exist") as caught:
        bench.project().record("keeper")
    assert "1 record could not be read" in caught.value.help


def test_two_of_one_name_are_refused(bench):
    """Neither is picked at random; both files are named."""
    first, second = bench.record(1), bench.record(2)

    with pytest.raises(AgentError, match="2 agents are named 'keeper'") as caught:
        bench.project().record("keeper")
    for path in (first, second):
        assert os.path.basename(path) in caught.value.message


def test_written_whole_private_and_kept(bench):
    """Mode 0600, unknown fields and all, and nothing else left in the folder."""
    path = bench.record(1, x={"mine": [1.5, "é"]})
    document = load_record(path).document
    os.unlink(path)
    save_record(os.path.dirname(path), document)

    assert 0o600 == stat.S_IMODE(os.stat(path).st_mode)
    assert document == json.loads(bench.text(path))
    assert [os.path.basename(path)] == os.listdir(os.path.dirname(path))


def test_a_failed_write_leaves_the_old_record(bench, monkeypatch):
    """A full disk costs the change, never the agent."""
    path = bench.record(1)
    before = bench.text(path)
    record = load_record(path)

    def full(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(ProjectError, match="no space left"):
        save_record(os.path.dirname(path), {**record.document, "genome": ["b"]})
    assert before == bench.text(path)
    assert [os.path.basename(path)] == os.listdir(os.path.dirname(path))


def test_what_could_not_be_read_is_not_written(bench):
    """A record that would be refused on the next read is refused now."""
    record = load_record(bench.record(1))

    with pytest.raises(AgentError, match="not a gene name"):
        save_record(os.path.dirname(record.path), {**record.document, "genome": ["../x"]})


def test_no_agents_at_all(tmp_path):
    """A project without the folder has no agents."""
    with pytest.raises(AgentError, match="does not exist"):
        find_record(str(tmp_path / "none"), "keeper")


@pytest.mark.parametrize("call", ["open", "listdir"])
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_no_descriptor_for_the_records(bench, monkeypatch, call, code):
    """That an agent is not seen for want of a descriptor does not mean that there is none."""
    bench.record(1, name="keeper")

    def none(path, *_args, **_options):
        raise OSError(code, os.strerror(code), path)

    monkeypatch.setattr(os, call, none)
    with pytest.raises(ProjectError, match="too many files are open") as caught:
        find_record(bench.path(".rotifer", "agents"), "keeper")

    assert "ulimit -n" in caught.value.help


def test_a_folder_of_records_that_cannot_be_read(bench, monkeypatch):
    """An error that names it; not an empty list."""

    def denied(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(ProjectError, match="cannot read this: permission denied"):
        record_paths(bench.path(".rotifer", "agents"))
