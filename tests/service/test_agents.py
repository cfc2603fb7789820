"""Agents over HTTP: listed, made, run, kept warm."""

from __future__ import annotations

import json
import threading

import pytest
from tests.service.conftest import NOTES

from rotifer_bridge._service_agents import WARM_AGENTS

RUN = "/agents/keeper/run"


@pytest.fixture
def ask(shared):
    """Send one request to the shared service."""
    return shared.service.ask


def test_agents_are_listed_and_made(cell):
    """A new agent's record comes back and is listed; what is wrong with others is said."""
    service = cell.serve()
    cell.bench.put(".rotifer/agents/broken.json", b"{")
    made = service.ask(
        "POST", "/agents", {"name": "third", "genes": ["notes"], "memoryQuota": "1MB"}, cell.deployer
    )  # fmt: skip
    listed = service.ask("GET", "/agents", token=cell.deployer).value

    assert (201, 1_048_576) == (made.status, made.value["agent"]["memoryQuotaBytes"])
    assert 1 == len(made.value["warnings"])  # that a record could not be read
    assert ["keeper", "other", "third"] == [agent["name"] for agent in listed["agents"]]
    assert 1 == len(listed["faults"])
    assert cell.bench.root not in json.dumps(listed["faults"])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"genes": ["notes"]}, "INVALID_REQUEST"),
        ({"name": "x"}, "INVALID_REQUEST"),
        ({"name": "../x", "genes": ["notes"]}, "INVALID_REQUEST"),
        ({"name": "x", "genes": []}, "INVALID_REQUEST"),
        ({"name": "x", "genes": "notes"}, "INVALID_REQUEST"),
        ({"name": "x", "genes": [5]}, "INVALID_REQUEST"),
        ({"name": "x", "genes": ["gone"]}, "E0040"),
        ({"name": "x", "genes": ["../../x"]}, "E0040"),
        ({"name": "x", "genes": ["notes"], "memoryQuota": "5"}, "INVALID_REQUEST"),
        ({"name": "x", "genes": ["notes"], "memoryQuota": 0}, "INVALID_REQUEST"),
        ({"name": "x", "genes": ["notes"], "memoryQuota": True}, "INVALID_REQUEST"),
        ({"name": "x", "genes": ["notes", "notes"], "composition": "All"}, "INVALID_REQUEST"),
        ({"name": "x", "genes": ["notes"], "id": "1"}, "INVALID_REQUEST"),
    ],
)
def test_a_bad_agent_is_not_made(ask, shared, fields, code):
    """400 with the reason, and no record."""
    answer = ask("POST", "/agents", fields, shared.deployer)

    assert (400, code) == (answer.status, answer.code)
    assert 2 == len(ask("GET", "/agents", token=shared.deployer).value["agents"])


def test_the_name_of_an_agent_is_taken(cell):
    """409, whether the record that has the name can be used or not, and nothing is made."""
    cell.bench.record(3, "broken", ("notes",), memoryQuotaBytes="much")
    ask = cell.serve().ask
    for name in ("keeper", "broken"):
        answer = ask("POST", "/agents", {"name": name, "genes": ["notes"]}, cell.deployer)
        assert (409, "NAME_TAKEN") == (answer.status, answer.code)
        assert f"an agent named '{name}' exists already" in answer.message

    assert 2 == len(ask("GET", "/agents", token=cell.deployer).value["agents"])


def test_a_run_gives_what_the_command_gives(ask, shared):
    """Output, steps, durations; what the gene printed comes back and goes into no log."""
    answer = ask("POST", RUN, {"input": {"a": "a private word"}}, shared.deployer)

    assert 200 == answer.status
    assert {"a": "a private word"} == answer.value["output"]["input"]
    assert ["ok"] == [step["status"] for step in answer.value["steps"]]
    assert [{"gene": "notes", "line": 'ran with {"a":"a private word"}'}] == answer.value["log"]
    assert "private" not in shared.service.log()
    read = ask("POST", "/agents/keeper/memory/read", {"key": "last"}, shared.notes)
    assert shared.gene == read.value["createdBy"]


def test_an_agent_stays_warm_until_its_files_change(cell):
    """The same process runs again; after a change of the gene a new one does."""
    service = cell.serve()

    def runs():
        return service.ask("POST", RUN, {}, cell.deployer).value["output"]["runs"]

    assert [1, 2, 3] == [runs() for _ in range(3)]
    cell.bench.put("genes/notes/index.js", NOTES + "\n// changed\n")
    assert [1, 2] == [runs() for _ in range(2)]
    cell.bench.record(1, "keeper", ("notes",), memoryQuotaBytes=5_000)
    assert 1 == runs()


@pytest.mark.parametrize(
    ("path", "fields", "answered"),
    [
        ("/agents/nobody/run", {}, (404, "E0050")),
        (RUN, {"input": {"fail": 1}}, (502, "E0052")),
        (RUN, {"input": {"sleep": 5_000}, "timeLimit": 0.2}, (504, "TIMED_OUT")),
        (RUN, {"timeLimit": 0}, (400, "INVALID_REQUEST")),
        (RUN, {"timeLimit": 601}, (400, "INVALID_REQUEST")),
        (RUN, {"timeLimit": 10**350}, (400, "INVALID_REQUEST")),
        (RUN, {"timeLimit": "5"}, (400, "INVALID_REQUEST")),
        (RUN, {"timeLimit": True}, (400, "INVALID_REQUEST")),
        (RUN, {"strict": 1}, (400, "INVALID_REQUEST")),
        (RUN, {"inputs": 1}, (400, "INVALID_REQUEST")),
    ],
)
def test_runs_that_fail(ask, shared, path, fields, answered):
    """Each with its status and code; the next run is fine."""
    answer = ask("POST", path, fields, shared.deployer)

    assert answered == (answer.status, answer.code)
    assert 200 == ask("POST", RUN, {}, shared.deployer).status


def test_strict_refuses_an_input_that_does_not_fit(cell):
    """A warning by default, 400 with `strict`."""
    schema = {"type": "object", "required": ["name"]}
    cell.bench.gene("notes", {"index.js": NOTES}, domain="code.notes", inputSchema=schema)
    service = cell.serve()
    loose = service.ask("POST", RUN, {}, cell.deployer)
    strict = service.ask("POST", RUN, {"strict": True}, cell.deployer)

    assert (200, 1) == (loose.status, len(loose.value["warnings"]))
    assert (400, "INVALID_REQUEST") == (strict.status, strict.code)


def test_runs_of_one_agent_take_turns_and_hold_up_no_other(ask, shared):
    """While one agent is busy for others, another one answers."""
    assert 200 == ask("POST", "/agents/other/run", {}, shared.deployer).status  # it is warm now
    slow = []
    threads = [
        threading.Thread(
            target=lambda: slow.append(ask("POST", RUN, {"input": {"sleep": 400}}, shared.deployer))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    other = ask("POST", "/agents/other/run", {}, shared.deployer)
    done_before = len(slow)
    for thread in threads:
        thread.join()

    assert 200 == other.status
    assert done_before < 6
    assert [200] * 6 == [answer.status for answer in slow]


def test_many_agents_do_not_stay_warm_at_once(cell):
    """The ninth agent makes room by ending the one that ran longest ago."""
    service = cell.serve()

    def runs(number):
        answer = service.ask("POST", f"/agents/a{number}/run", {}, cell.deployer)
        return answer.value["output"]["runs"]

    for number in range(WARM_AGENTS + 1):
        cell.bench.record(10 + number, f"a{number}", ("notes",))
        assert 1 == runs(number)

    assert (2, 2, 1) == (runs(WARM_AGENTS), runs(1), runs(0))
