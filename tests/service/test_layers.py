"""The layers over HTTP (layers §6): each error by its request, and nobody sees another's."""

from __future__ import annotations

import json

import pytest

from rotifer_engine.layers import LAYER_ERRORS, all_memory_layers


@pytest.fixture
def ask(shared):
    """Send one request to the shared service."""
    return shared.service.ask


def save(ask, token, query="", **fields):
    """Write to a layer."""
    return ask("POST", f"/memory{query}", fields, token)


ABOUT = {"layer": "about_me", "content": "x", "actor": "alice"}
ROOM = {"layer": "agent_memory", "content": "x", "actor": "alice"}

ERRORS = [
    ("ErrUnknownLayer", "POST", "/memory", {**ABOUT, "layer": "about_you"}),
    ("ErrUnknownLayer", "POST", "/memory", {**ABOUT, "layer": ""}),
    ("ErrUnknownLayer", "POST", "/memory", {"content": "x", "actor": "alice"}),
    ("ErrUnknownLayer", "POST", "/memory", {**ABOUT, "layer": 5}),
    ("ErrUnknownLayer", "GET", "/memory?layer=nothing", None),
    ("ErrUnknownLayer", "DELETE", "/memory/layer?actor=alice", None),
    ("ErrUnknownLayer", "DELETE", "/memory/layer?layer=&actor=alice", None),
    ("ErrLayerNotWritable", "POST", "/memory", {**ABOUT, "layer": "environment"}),
    ("ErrLayerNotWritable", "POST", "/memory", {**ABOUT, "layer": "session"}),
    ("ErrLayerNotWritable", "POST", "/memory", {**ABOUT, "layer": "working"}),
    ("ErrLayerNotWritable", "POST", "/memory", {**ABOUT, "layer": "unknown"}),
    ("ErrLayerNotWritable", "DELETE", "/memory/layer?layer=environment", None),
    ("ErrLayerShared", "POST", "/memory", {**ABOUT, "layer": "consensus"}),
    ("ErrLayerShared", "DELETE", "/memory/layer?layer=consensus&actor=alice", None),
    ("ErrLayerNamespaceRequired", "POST", "/memory", ROOM),
    ("ErrLayerNamespaceRequired", "POST", "/memory", {**ROOM, "namespace": ""}),
    ("ErrActorRequired", "POST", "/memory", {"layer": "about_me", "content": "x"}),
    ("ErrActorRequired", "POST", "/memory", {"layer": "agent_memory", "content": "x", "namespace": "n"}),
    ("ErrActorRequired", "DELETE", "/memory/layer?layer=about_me", None),
    ("ErrMemoryLayerScopeConflict", "GET", "/memory?layer=about_me&scope=global", None),
    ("ErrMemoryLayerScopeConflict", "POST", "/memory", {**ABOUT, "scope": "global"}),
    ("ErrMemoryLayerScopeConflict", "DELETE", "/memory/layer?layer=about_me&scope=global", None),
    ("ErrKindRequired", "POST", "/memory", {**ABOUT, "kind": ""}),
    ("ErrSessionRequired", "POST", "/memory", {**ABOUT, "kind": "episodic"}),
    ("ErrSessionRequired", "POST", "/memory", {**ABOUT, "kind": "scratch", "session": ""}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {"layer": "about_me", "actor": "alice"}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "content": ""}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "kind": "gossip"}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "metadata": []}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "namespace": "n"}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "actor": ["alice"]}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "layer": "consensus", "actor": []}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "layer": "consensus", "actor": {"a": 1}}),
    ("MEMORY_INVALID_INPUT", "POST", "/memory", {**ABOUT, "layer": "consensus", "actor": 0}),
    ("MEMORY_INVALID_INPUT", "DELETE", "/memory/layer?layer=about_me&actor=alice&namespace=n", None),
    ("MEMORY_INVALID_INPUT", "GET", "/memory?limit=0", None),
    ("MEMORY_INVALID_INPUT", "GET", "/memory?limit=1001", None),
    ("MEMORY_INVALID_INPUT", "GET", "/memory?limit=ten", None),
    ("MEMORY_INVALID_INPUT", "GET", "/memory?offset=-1", None),
    ("INVALID_REQUEST", "POST", "/memory", {**ABOUT, "scope": "global", "layer": ""}),
    ("INVALID_REQUEST", "POST", "/memory", {**ABOUT, "owner": "x"}),
    ("INVALID_REQUEST", "POST", "/memory?actor=bob", ABOUT),
    ("INVALID_REQUEST", "POST", "/memory", [ABOUT]),
    ("INVALID_REQUEST", "GET", "/memory?owner=x", None),
    ("INVALID_REQUEST", "GET", "/memory?actor=alice&actor=alice", None),
    ("INVALID_REQUEST", "GET", "/memory/counts?layer=about_me", None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "request_"), [(code, rest) for code, *rest in ERRORS])
def test_each_error_by_its_request(ask, shared, code, request_):
    """400 with the code and a message."""
    answer = ask(*request_, shared.alice)

    assert (400, code) == (answer.status, answer.code)
    assert answer.message


def test_no_error_of_the_layers_is_left_out():
    """Every code of the table has a request above."""
    assert set(LAYER_ERRORS) <= {code for code, *_ in ERRORS}


def test_counts_have_all_seven_keys(ask, shared):
    """In their order, zeros included; without an actor only what belongs to all."""
    save(ask, shared.bob, layer="about_me", content="b", actor="bob")
    mine = ask("GET", "/memory/counts?actor=bob", token=shared.bob)
    nobody = ask("GET", "/memory/counts", token=shared.bob)

    assert list(all_memory_layers()) == list(mine.value)
    assert mine.value["about_me"] >= 1
    assert list(all_memory_layers()) == list(nobody.value)
    assert 0 == nobody.value["about_me"]


def test_a_key_stands_for_one_entry(ask, shared):
    """With a key the entry is replaced; without one a repeated write is the same entry."""
    first = save(ask, shared.alice, **{**ABOUT, "key": "drink", "content": "tea"})
    second = save(ask, shared.alice, **{**ABOUT, "key": "drink", "content": "coffee"})
    once = save(ask, shared.alice, **{**ABOUT, "content": "twice"})
    again = save(ask, shared.alice, **{**ABOUT, "content": "twice"})
    listed = ask("GET", "/memory?layer=about_me&actor=alice", token=shared.alice).value

    assert (201, "fact") == (first.status, first.value["kind"])
    assert first.value["entryId"] == second.value["entryId"]
    assert once.value == again.value
    assert ["twice", "coffee"] == [entry["content"] for entry in listed[:2]]
    assert (201, 200) == (again.status, 200)


def test_the_actor_may_stand_in_the_address(ask, shared):
    """In the address, in the body, or the same one in both."""
    fields = {"layer": "about_me", "content": "address"}

    assert "alice" == save(ask, shared.alice, "?actor=alice", **fields).value["actor"]
    assert 201 == save(ask, shared.alice, "?actor=alice", **fields, actor="alice").status


def test_an_actor_never_learns_of_another_s(ask, shared):
    """Lists, counts, writes and clears for another: the same 403, be there anything or not."""
    save(ask, shared.bob, layer="about_me", content="bob's secret", actor="bob", key="k")
    before = ask("GET", "/memory/counts?actor=bob", token=shared.bob).value
    answers = [
        ask("GET", f"/memory?actor={actor}", token=shared.alice)
        for actor in ("bob", "nobody")
    ] + [
        ask("GET", f"/memory/counts?actor={actor}", token=shared.alice)
        for actor in ("bob", "nobody")
    ] + [
        ask("DELETE", f"/memory/layer?layer=about_me&actor={actor}", token=shared.alice)
        for actor in ("bob", "nobody")
    ] + [
        save(ask, shared.alice, layer="about_me", content="c", actor=actor, key="k")
        for actor in ("bob", "nobody")
    ]  # fmt: skip

    assert {403} == {answer.status for answer in answers}
    assert 1 == len({json.dumps(answer.value) for answer in answers})
    assert before == ask("GET", "/memory/counts?actor=bob", token=shared.bob).value
    own = ask("GET", "/memory?actor=alice&limit=1000", token=shared.alice).value
    assert {"alice", None} >= {entry["actor"] for entry in own}
    assert "bob's secret" not in json.dumps(own)


def test_consensus_is_the_administrator_s(ask, shared):
    """Everyone reads it; only the administrator writes and clears it."""
    rule = {"layer": "consensus", "content": "within a day", "kind": "convention"}
    assert 403 == save(ask, shared.alice, **rule).status
    assert 201 == save(ask, shared.admin, **rule).status
    for token in (shared.alice, shared.bob, shared.admin):
        listed = ask("GET", "/memory?layer=consensus", token=token).value
        assert ["within a day"] == [entry["content"] for entry in listed]
    assert 403 == ask("DELETE", "/memory/layer?layer=consensus", token=shared.alice).status

    assert (200, {"deleted": 1}) == ask("DELETE", "/memory/layer?layer=consensus", token=shared.admin)[:2]  # fmt: skip


def test_the_administrator_acts_for_no_actor(ask, shared):
    """Neither reading nor writing nor clearing."""
    assert 403 == ask("GET", "/memory?actor=alice", token=shared.admin).status
    assert 403 == save(ask, shared.admin, **ABOUT).status
    assert 403 == ask("DELETE", "/memory/layer?layer=about_me&actor=alice", token=shared.admin).status  # fmt: skip


def test_the_agent_inside_which_an_actor_works_is_the_token_s(ask, shared):
    """A room of agent-legal opens to the token made for it, and to no parameter."""
    outside = shared.token("actor", actor="alice", inside=None)
    carol = shared.token("actor", actor="carol", inside="agent-legal")
    for space, content in (("agent://legal/notes", "note"), ("agent://legal/shared", "channel")):
        saved = save(ask, shared.alice, **{**ROOM, "namespace": space, "content": content})
        assert 201 == saved.status

    def seen(token, actor):
        found = ask("GET", f"/memory?layer=agent_memory&actor={actor}", token=token).value
        return sorted(entry["content"] for entry in found)

    assert ["channel", "note"] == seen(shared.alice, "alice")
    assert [] == seen(outside, "alice")
    assert ["channel"] == seen(carol, "carol")
    assert "INVALID_REQUEST" == ask("GET", "/memory?actor=alice&agent=agent-legal", token=outside).code  # fmt: skip


@pytest.mark.parametrize("inside", [None, "agent-lega", "agent-legal2", "agent-sales"])
@pytest.mark.parametrize("namespace", ["agent://legal/shared", "agent://legal/notes/a"])
def test_a_room_is_written_and_cleared_from_inside_only(ask, shared, inside, namespace):
    """Else anybody's word would stand in the channel; what the actor left there stays, too."""
    dora = shared.token("actor", actor="dora", inside="agent-legal")
    outside = shared.token("actor", actor="dora", inside=inside)
    space = {"layer": "agent_memory", "actor": "dora", "namespace": namespace}
    clear = f"/memory/layer?layer=agent_memory&actor=dora&namespace={namespace}"
    answers = [
        save(ask, outside, **space, content="from outside"),
        save(ask, dora, **space, content="from inside"),
        ask("DELETE", clear, token=outside),
        ask("DELETE", clear, token=dora),
    ]

    assert [403, 201, 403, 200] == [answer.status for answer in answers]
    assert {"deleted": 1} == answers[-1].value
    assert "'agent-legal'" in answers[0].message


def test_what_is_ephemeral_is_seen_in_its_session(ask, shared):
    """With the session's id, and not without."""
    save(ask, shared.bob, layer="about_me", content="now", actor="bob", kind="episodic", session="s1")  # fmt: skip

    def contents(query):
        found = ask("GET", f"/memory?actor=bob&kind=episodic{query}", token=shared.bob).value
        return [entry["content"] for entry in found]

    assert ["now"] == contents("&session=s1")
    assert [] == contents("&session=s2")
    assert [] == contents("")


def test_my_one_row_is_on_the_first_page(ask, shared):
    """Filters act before LIMIT: newer rows of somebody else take no place of mine."""
    dave = shared.token("actor", actor="dave")
    save(ask, dave, layer="about_me", content="mine", actor="dave")
    for number in range(60):
        save(ask, shared.bob, layer="about_me", content=f"newer {number}", actor="bob")
    found = ask("GET", "/memory?layer=about_me&actor=dave&limit=1", token=dave).value

    assert ["mine"] == [entry["content"] for entry in found]


def test_the_environment_is_what_the_host_is(ask, shared):
    """Made when the service starts; everyone in the cell sees it, and nobody writes it."""
    found = ask("GET", "/memory?layer=environment", token=shared.bob).value

    assert {"os", "python"} <= {entry["key"] for entry in found}
    assert {None} == {entry["actor"] for entry in found}
    assert shared.bench.root not in json.dumps(found)
