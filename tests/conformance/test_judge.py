"""What is compared: answers, lines and events in a neutral form; whatever is odd is a difference."""

from __future__ import annotations

import json

import pytest

from rotifer_engine import SqliteStore
from rotifer_engine.conformance import Cell, Report, Stage, cases
from rotifer_engine.conformance._door import PythonDoor
from rotifer_engine.conformance._judge import Difference, differences
from rotifer_engine.conformance._play import play
from rotifer_engine.conformance._report import Failed, explain
from rotifer_engine.conformance._values import Names, instant, neutral_entry

NAMES = Names("agent-1", {"v2:" + "a" * 64: "A"})


def named(name):
    """The case of this name."""
    [found] = [case for case in cases() if case.name == name]
    return found


@pytest.fixture
def played(tmp_path):
    """Plays a case, and gives it with what came of it."""
    with SqliteStore(str(tmp_path / "memory.db"), durable=False) as store:
        stage = Stage(store, str(tmp_path))

        def run(name):
            case = named(name)
            return case, play(case, PythonDoor(), stage)

        yield run
        stage.close()


def test_a_case_that_passes_has_no_differences(played):
    """Neither in answers nor in lines nor in events."""
    assert [] == list(differences(*played("each denied call has its line and its event")))


def test_a_line_that_is_missing_is_a_difference(played):
    """No change without its line."""
    case, story = played("a deleted entry is gone")
    del story.lines[0][-1]

    [found] = differences(case, story)

    assert "line 2 of the audit log" == found.where
    assert "delete" == found.expected["action"]
    assert found.got is None


def test_a_line_too_many_is_a_difference(played):
    """Reads leave none."""
    case, story = played("reads and queries leave no line")
    story.lines[0].append({**story.lines[0][0], "action": "read"})

    [found] = differences(case, story)

    assert (None, "read") == (found.expected, found.got["action"])


def test_an_event_that_is_missing_is_a_difference(played):
    """One for each denied access, with its entry."""
    case, story = played("a gene without identity may not read")
    assert [{"event": "memory.access_denied", "gene_id": None, "entry_id": "k"}] == story.events[0]
    story.events[0].clear()

    [found] = differences(case, story)

    assert "the telemetry file" == found.where


def test_a_value_in_the_log_is_a_difference(played):
    """Wherever in the line it stands."""
    case, story = played("a value is in no line")
    story.raw[0] = json.dumps({"note": "a secret value"})

    [found] = differences(case, story)

    assert ("the audit log", "no value") == found[:2]


def test_lines_of_one_change_share_their_number(played):
    """An eviction and the write that it makes room for; the next write is another change."""
    _, story = played("what makes room is one change with the write")

    assert [0, 1, 2, 3, 3, 3, 4, 4] == [line["change_id"] for line in story.lines[0]]


def test_an_error_where_an_answer_was_due_is_a_difference(played):
    """And an answer where an error was due."""
    case, story = played("a closed entry is denied, never null")
    answers = story.answers
    answers[0], answers[1] = answers[1], answers[0]

    assert ["step 1", "step 2"] == [found.where[:6] for found in differences(case, story)]


def test_the_words_of_errors_are_not_compared_between_doors(played):
    """Their codes are."""
    case, story = played("a closed entry is denied, never null")
    before = story.comparable()
    story.answers[1]["error"]["message"] = "in other words"

    assert before == story.comparable()
    assert [] == list(differences(case, story))
    story.answers[1]["error"]["code"] = "MEMORY_NOT_FOUND"
    assert before != story.comparable()


def test_a_case_that_breaks_ends_there(tmp_path):
    """What broke stands as the answer of its step."""

    class Broken(PythonDoor):
        def ask(self, stage, part, role, steps):
            if steps[0].call == "delete":
                raise OSError("no more")
            return super().ask(stage, part, role, steps)

    case = named("deleting a key never written is not found")
    with SqliteStore(str(tmp_path / "memory.db"), durable=False) as store:
        stage = Stage(store, str(tmp_path))
        story = play(case, Broken(), stage)
        stage.close()

    [found] = differences(case, story)
    assert ("an answer", "OSError: no more") == found[1:]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (instant(), 0),
        (instant(-1), -1),
        (instant(86_400_000), 86_400_000),
        ("2026-09-21T14:13:20Z", "2026-09-21T14:13:20Z"),
        ("2026-09-21 14:13:20.000Z", "2026-09-21 14:13:20.000Z"),
        ("2026-13-21T14:13:20.000Z", "2026-13-21T14:13:20.000Z"),
        (5, 5),
    ],
)
def test_a_time_that_is_printed_otherwise_stays(text, after):
    """So it is a difference."""
    assert after == NAMES.after(text)


@pytest.mark.parametrize(
    ("value", "neutral"),
    [
        ("/w==", "/w=="),
        ("/x==", "not canonical: /x=="),
        ("-w==", "not base64: -w=="),
        ("é", "not base64: é"),
        (5, 5),
    ],
)
def test_a_value_that_is_no_canonical_base64_is_a_difference(value, neutral):
    """It comes out as what it is."""
    assert {"value": neutral} == neutral_entry({"value": value}, NAMES)


def test_identities_that_are_not_the_cases_own_stay():
    """A role stands for a known one only."""
    given = {"createdBy": "v2:" + "a" * 64, "lastAccessedBy": "v2:" + "b" * 64, "entryId": "0" * 64, "key": "k"}  # fmt: skip

    assert {**given, "createdBy": "A"} == neutral_entry(given, NAMES)
    assert "of its key" == NAMES.entry_id(NAMES.id_of("k"), "k")


def test_long_differences_are_cut(played):
    """A person can read a line of them."""
    case, _ = played("a deleted entry is gone")
    failed = Failed(case, (Difference("step 1", [1, "a" * 1_000], [1, 2]),) * 3)

    lines = explain(failed, "here")

    assert "  entry 2:" in lines
    assert max(map(len, lines)) < 330
    assert "  and 2 more in this case" == lines[-1]


def test_cells_with_two_stories_are_told():
    """Where each cell passed and yet they differ."""
    cells = [Cell(door, "s", 1, 1, (), (), {"the case": story}) for door, story in (("a", 1), ("b", 2))]  # fmt: skip

    assert [
        "first difference: the case",
        "  a x s and b x s have different stories",
    ] == Report(tuple(cells)).first_difference()
    assert ["a x s: 1 / 1", "b x s: 1 / 1"] == Report(tuple(cells)).table()


def test_the_records_are_read_from_where_they_were(tmp_path):
    """Lines of another agent wait until they are asked for; there may be none."""
    from rotifer_engine.conformance._stage import _Tail

    tail = _Tail(str(tmp_path / "log"))
    assert [] == tail.of("a")
    with open(tail.path, "w", encoding="ascii") as file:
        file.write('{"agent_id":"a"}\n{"agent_id":"b"}\n')
    assert ['{"agent_id":"a"}'] == tail.of("a")
    with open(tail.path, "a", encoding="ascii") as file:
        file.write('{"agent_id":"a","n":2}\n')

    assert ['{"agent_id":"a","n":2}'] == tail.of("a")
    assert ['{"agent_id":"b"}'] == tail.of("b")
