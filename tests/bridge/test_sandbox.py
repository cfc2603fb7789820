"""Which walls are built, what is remembered of them, and what is said (design §5)."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_bridge import NodeError, UsageError, _doctor_layers, _sandbox_note
from rotifer_bridge import _sandbox_here as here
from rotifer_bridge._doctor_layers import layers
from rotifer_bridge._sandbox import WALLS, environment, fenced
from rotifer_bridge._sandbox_note import weaker

FIRST = WALLS[0]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine on which each wall's trial comes out as told; nothing is known of it yet."""

    class Machine:
        outcomes = dict.fromkeys(WALLS, "works")
        trials = 0

    def trial(wall, _node):
        Machine.trials += 1
        outcome = Machine.outcomes[wall]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    Machine.outcomes = dict(Machine.outcomes)
    monkeypatch.setattr(here, "_try", trial)
    for module in (here, _sandbox_note, _doctor_layers):  # whatever this machine has
        monkeypatch.setattr(module, "program", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(here, "_known", {})
    monkeypatch.delenv("ROTIFER_SANDBOX", raising=False)
    monkeypatch.delenv("CI", raising=False)
    Machine.root = str(tmp_path)
    Machine.forget = lambda: monkeypatch.setattr(here, "_known", {})
    Machine.file = tmp_path / ".rotifer" / "cache" / "sandbox"
    return Machine


@pytest.mark.parametrize("works", [["bubblewrap", "unshare"], ["unshare"], []])
def test_the_strongest_that_works_is_built(machine, works):
    """The next one stands in where one does not work; in the end there is none."""
    machine.outcomes |= {w: "works" if w in works else "not permitted" for w in WALLS}

    assert ([*works, "none"])[0] == here.wall_here(machine.root, "/node")


def test_a_trial_is_made_once_a_boot(machine):
    """The next command finds the outcome in the project's private folder."""
    for _ in range(3):
        assert FIRST == here.wall_here(machine.root, "/node")
        machine.forget()

    assert 1 == machine.trials
    assert 0o600 == machine.file.stat().st_mode & 0o777


def test_another_node_is_tried_anew(machine):
    """What holds for one program does not for another."""
    here.wall_here(machine.root, "/node")
    here.wall_here(machine.root, "/other")

    assert 2 == machine.trials


def test_trouble_that_passes_weakens_nothing(machine):
    """It is an error, it is not remembered, and the next trial counts."""
    machine.outcomes[FIRST] = NodeError("Too many open files")
    with pytest.raises(NodeError):
        here.wall_here(machine.root, "/node")
    machine.outcomes[FIRST] = "works"

    assert FIRST == here.wall_here(machine.root, "/node")


@pytest.mark.parametrize("how", ["a link", "open to others", "a folder", "garbage"])
def test_a_planted_memory_is_not_believed(machine, tmp_path, how):
    """Only a plain file of ours that nobody else can write says what does not work."""
    machine.outcomes[FIRST] = "not permitted"
    assert "unshare" == here.wall_here(machine.root, "/node")
    machine.forget()
    machine.outcomes[FIRST] = "works"
    if how == "a link":
        machine.file.rename(tmp_path / "planted")
        machine.file.symlink_to(tmp_path / "planted")
    elif how == "open to others":
        machine.file.chmod(0o666)
    elif how == "a folder":
        machine.file.unlink()
        machine.file.mkdir()
    else:
        machine.file.write_bytes(b"\xff\t\n\n" * 1000)

    assert FIRST == here.wall_here(machine.root, "/node")


@pytest.mark.parametrize("wall", WALLS)
def test_the_environment_names_the_strongest(machine, monkeypatch, wall):
    """ROTIFER_SANDBOX; what is no wall is refused."""
    monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    assert wall == here.wall_here(machine.root, "/node")
    monkeypatch.setenv("ROTIFER_SANDBOX", "wall")
    with pytest.raises(UsageError, match="ROTIFER_SANDBOX is 'wall'"):
        here.wall_here(machine.root, "/node")


@pytest.mark.parametrize("wall", WALLS[1:])
def test_a_weaker_machine_says_so_once(machine, monkeypatch, wall):
    """A sentence in each project, not in each run; none in CI."""
    machine.outcomes |= {w: "works" if w == wall else "not permitted" for w in WALLS}

    assert "weaker sandbox here" in weaker(machine.root, "/node", wall)
    machine.forget()
    assert weaker(machine.root, "/node", wall) is None
    monkeypatch.setenv("CI", "1")
    assert weaker(machine.root + "/other", "/node", wall) is None


def test_a_run_says_so_once(bench, machine):
    """The first run of an agent warns, the second does not."""
    machine.outcomes |= {"bubblewrap": "not permitted", "unshare": "not permitted"}
    bench.gene("g")
    bench.record(1, genome=["g"])
    told = []
    for _ in range(2):
        with bench.project().agent("keeper") as agent:
            agent.run({}, on_note=told.append)

    assert 1 == len(told)
    assert "bubblewrap does not work here (not permitted)" in told[0]


def test_doctor_tells_of_each_layer(machine, monkeypatch):
    """On, or off with the reason and what to do."""
    monkeypatch.setattr("rotifer_bridge._doctor_layers.tried", here.tried)
    machine.outcomes["bubblewrap"] = "not permitted"
    found = {check.name: check for check in layers(None)}

    assert {"bubblewrap", "unshare", "setpriv", "prlimit", "permissions"} == set(found)
    assert "warn" == found["bubblewrap"].status
    assert "off: it does not work here (not permitted)" in found["bubblewrap"].detail
    assert "max_user_namespaces" in found["bubblewrap"].help
    assert found["unshare"].detail.startswith("on: ")


def test_no_trial_is_made_up(node_path):
    """The real trial says of this machine what really comes of it, and of a program that is none."""
    if here.program("bwrap") is None:
        assert "not installed" == here.tried(None, node_path, "bubblewrap")
    else:
        assert "works" != here.tried(None, "/bin/gone", "bubblewrap")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", None])
def test_the_time_zone_is_known_in_every_layer(monkeypatch, zone):
    """The caller's, else the machine's; inside there is nothing to ask."""
    if zone is None:
        monkeypatch.delenv("TZ", raising=False)
        assert environment()["TZ"]
    else:
        monkeypatch.setenv("TZ", zone)
        assert zone == environment()["TZ"]


def test_limits_come_first(node_path):
    """Prlimit is outermost: what builds the walls is held to them too."""
    from rotifer_bridge._grants import Fence

    for wall in WALLS:
        command = fenced(wall, [node_path], Fence(None, ()), ())
        assert "/prlimit" in command[0] or here.program("prlimit") is None
        assert node_path == command[-1]


def test_the_head_start_is_the_one_that_runs(bench, rotifer_process):
    """A cold run starts one worker: the one whose fence was foreseen."""
    bench.gene("g", {"index.mjs": "export const express = () => ({});"})
    bench.record(1, genome=["g"], grants={"read": ["genes"]})
    code = (
        "import sys, os\n"
        "from rotifer_bridge import _launch\n"
        "spawn = _launch.spawn\n"
        "def counted(*all):\n"
        "    print('started', file=sys.stderr)\n"
        "    return spawn(*all)\n"
        "_launch.spawn = counted\n"
        "from rotifer_bridge.__main__ import main\n"
        "sys.argv = ['rotifer', 'agent', 'run', 'keeper', '--json']\n"
        "main()\n"
    )
    done = rotifer_process(code=code)

    assert {} == json.loads(done.stdout)["output"]
    assert ["started"] == done.stderr.split()
    assert os.path.exists(bench.path(".rotifer", "cache"))
