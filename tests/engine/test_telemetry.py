"""Events of denied accesses, and what turns them off."""

from __future__ import annotations

import os
import stat

import pytest

from rotifer_engine import AccessDenied, Caller, Telemetry, telemetry_enabled


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, True),
        ({"ROTIFER_TELEMETRY": "1"}, True),
        ({"ROTIFER_TELEMETRY": ""}, True),
        ({"ROTIFER_TELEMETRY": "0"}, False),
        ({"ROTIFER_TELEMETRY": "false"}, False),
        ({"ROTIFER_TELEMETRY": "OFF"}, False),
        ({"DO_NOT_TRACK": ""}, True),
        ({"DO_NOT_TRACK": "0"}, True),
        ({"DO_NOT_TRACK": "False"}, True),
        ({"DO_NOT_TRACK": "1"}, False),
        ({"DO_NOT_TRACK": "no"}, False),
        ({"DO_NOT_TRACK": "0", "ROTIFER_TELEMETRY": "0"}, False),
        ({"DO_NOT_TRACK": "1", "ROTIFER_TELEMETRY": "1"}, False),
    ],
)
def test_what_turns_it_off(environ, expected):
    """Either variable does, by the values of the page."""
    assert expected == telemetry_enabled(environ)


def deny(world, a, c, memory=None):
    """Write as one gene, be denied as another."""
    memory = memory or world.memory
    entry = memory.write(a, "secret/key", b"", "CACHE")
    with pytest.raises(AccessDenied):
        memory.read(c, "secret/key")
    return entry


def test_one_event_for_each_denied_access(world, a, c):
    """The event has who, what and which entry by its id; never the key."""
    entry = deny(world, a, c)
    (event,) = world.lines(world.telemetry_path)

    expected = {
        "ts": "2023-11-14T22:13:20.000Z",
        "event": "memory.access_denied",
        "agent_id": world.memory.agent_id,
        "gene_id": c.gene_id,
        "gene_domain": c.domain,
        "operation": "read",
        "entry_id": entry.entry_id,
    }
    assert expected == event
    assert 0o600 == stat.S_IMODE(os.stat(world.telemetry_path).st_mode)


def test_a_denied_query_has_no_entry(world):
    """Nor a gene, if the caller has no identity."""
    with pytest.raises(AccessDenied):
        world.memory.query(Caller(None, None))
    (event,) = world.lines(world.telemetry_path)

    assert (None, None, "query") == (event["entry_id"], event["gene_id"], event["operation"])


def test_turned_off_it_makes_no_file(world, a, c):
    """The audit line is written all the same."""
    quiet = Telemetry(world.telemetry_path, enabled=False, files=world.files)
    deny(world, a, c, world.agent(telemetry=quiet))

    assert not os.path.exists(world.telemetry_path)
    assert "memory.denied" == world.actions()[-1]
    quiet.close()


def test_a_failure_changes_no_answer(world, a, c):
    """When the file cannot be written, the access is denied as ever, and recorded."""
    os.makedirs(world.telemetry_path)
    deny(world, a, c)

    assert "memory.denied" == world.actions()[-1]
