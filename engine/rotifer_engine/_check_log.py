"""The audit log against the rows of an agent and of the layers, and its own lines (memory §9).

The log is read once, a line at a time. What is kept of it grows with the entries, not with the log.
A log that was rotated begins with ``memory.continued``: it tells what happened since, so an entry
that it never mentions is older than it; one that it mentions must be as it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine._audit import ACTIONS, LAYER_ACTIONS, is_torn, record_of, store_of
from rotifer_engine._entry import entry_id
from rotifer_engine._input import shown
from rotifer_engine._reading import MAX_LINE_BYTES
from rotifer_engine._replay import Line, made

if TYPE_CHECKING:
    from rotifer_engine._findings import Findings
    from rotifer_engine._reading import Numbered
    from rotifer_engine._store import Snapshot

__all__ = ["Seen", "check_log"]

_PART = "audit log"
_TORN = "a crash can leave such a line; look at it, then take it out or rotate the log"
#: Before the line that says what a torn one is, the same append may settle a change.
_SETTLING = {"memory.abandoned", "memory.continued"}
_DIFFERS = "one of the two was changed by hand or is an older copy: restore both from the same copy"


_NAMED = 20  # so many foreign lines are given by number


class Seen(NamedTuple):
    """How many lines there were, and whether they go back to the beginning."""

    lines: int
    foreign: int
    other_stores: int
    whole: bool
    foreign_numbers: tuple[int, ...]
    torn: int


def check_log(  # noqa: PLR0917 - the log, and what it is held against
    agent_id: str,
    log: Numbered,
    snapshot: Snapshot,
    sizes: dict[str, int],
    layers: dict[str, int],
    findings: Findings,
) -> Seen:
    """Read the log and compare it with the rows.

    Args:
        agent_id: whose rows.
        log: the log, as it was when the snapshot was taken.
        snapshot: the store.
        sizes: the size of the entry of each key.
        layers: the size of each entry of the layers, by its id.
        findings: what should not be goes there.
    """
    reading = _Reading(agent_id, snapshot.store_id, findings)
    of_agent, of_layers = _Told("entry", sizes), _Told("entry of a layer", layers)
    last_change = snapshot.last_change(agent_id)
    try:
        for line in made(reading.lines(log), last_change):
            reading.last_made = line.change_id
            (of_layers if line.action in LAYER_ACTIONS else of_agent).take(line)
    except OSError as error:
        findings.add(
            _PART, f"it cannot be read to its end: {error.strerror or error}", "check the disk"
        )
        return reading.seen()
    if reading.begun:
        if reading.last_made != last_change:
            findings.add(_PART, "its last change is not the last one of the database", _DIFFERS)
        for told in (of_agent, of_layers):
            told.compare(findings, whole=reading.whole)
    return reading.seen()


class _Told:
    """What the log tells of some rows, to be held against them.

    Args:
        what: one of them, for people.
        sizes: the size of each row by its name in the log.
    """

    def __init__(self, what: str, sizes: dict[str, int]) -> None:
        self._what = what
        self._sizes = sizes
        self._present: dict[str, object] = {}
        self._removed: set[str] = set()

    def take(self, line: Line) -> None:
        """A line of a change that was made; without a key it is about none of them."""
        key = line.key
        if not isinstance(key, str):
            return
        if (ACTIONS[line.action].effect or 0) >= 0:
            self._present[key] = line.size
            self._removed.discard(key)
        else:
            self._present.pop(key, None)
            if key in self._sizes:  # of all that was ever removed, only this can be a fault
                self._removed.add(key)

    def compare(self, findings: Findings, *, whole: bool) -> None:
        """Find where rows and lines differ.

        Args:
            findings: where to.
            whole: whether the log goes back to the first row.
        """
        for key, size in self._sizes.items():
            row = f"the {self._what} {key!a}"
            if key not in self._present:
                if whole and key not in self._removed:
                    findings.add(_PART, f"it does not know {row}", _DIFFERS, kind="unknown to it")
                elif key in self._removed:
                    message = f"it says that {row} was removed, and it is there"
                    findings.add(_PART, message, _DIFFERS, kind="not removed")
            elif self._present[key] != size:
                message = (
                    f"it says that {row} has {shown(self._present[key])} bytes; it has {size:,}"
                )
                findings.add(_PART, message, _DIFFERS, kind="of another size")
        for key in self._present:
            if key not in self._sizes:
                message = f"it says that there is an {self._what} {key!a}, and it is not there"
                findings.add(_PART, message, _DIFFERS, kind="missing")


class _Reading:
    """The lines of one store, as they are read; judges each by itself."""

    def __init__(self, agent_id: str, store_id: str, findings: Findings) -> None:
        self._agent_id = agent_id
        self._store_id = store_id
        self._findings = findings
        self._lines = self._foreign = self._others = 0
        self._foreign_numbers: list[int] = []
        self._torn_numbers: list[int] = []
        self._torn = 0
        self.begun = False
        self.whole = False
        self.last_made: str | None = None

    def seen(self) -> Seen:
        """What was counted."""
        return Seen(
            self._lines,
            self._foreign,
            self._others,
            self.whole,
            tuple(self._foreign_numbers),
            self._torn,
        )

    def lines(self, log: Numbered) -> Iterator[Line]:
        """The lines about this store; keys and sizes only of what is held against them."""
        change_id = ""
        first = last = 0
        for number, raw in log.numbered():
            first = first or number
            if last and number != last + 1:  # a file's lines are counted, those of a store kept
                self._missing(last + 1, number - 1)
            last = number
            fields = self._parse(number, raw)
            if fields is None:
                continue
            found = record_of(fields)
            self._judge_torn(found and found[0])
            if found is None:
                self._judge_foreign(number, fields)
                continue
            action, change = found
            if store_of(change) != self._store_id:
                self._others += 1
                continue
            if not self.begun:
                self.begun = True
                self.whole = first == 1 and action != "memory.continued"
            if action == "memory.continued":
                self.last_made = change
            if change != change_id:  # one text for all lines of a change
                change_id = change
            if action in LAYER_ACTIONS:
                yield Line(action, change_id, None, fields.get("entry_id"), fields.get("size"))
            elif ACTIONS[action].effect is None or fields.get("agent_id") != self._agent_id:
                yield Line(action, change_id)
            else:
                key = self._key(number, action, fields)
                yield Line(action, change_id, self._agent_id, key, fields.get("size"))
        self._settle_torn()  # the next append will tell of it

    def _parse(self, number: int, raw: bytes | None) -> dict[str, object] | None:
        if raw is None:
            self._lines += 1
            self._no_line(number, f"has more than {MAX_LINE_BYTES:,} bytes")
            return None
        if not raw.strip():
            return None
        self._lines += 1
        try:
            fields = json.loads(raw)
        except (ValueError, RecursionError):
            if is_torn(raw):
                self._torn_numbers.append(number)
            else:
                self._no_line(number, "is not JSON")
            return None
        if not isinstance(fields, dict):
            self._no_line(number, "is no JSON object")
            return None
        return fields

    def _no_line(self, number: int, what: str) -> None:
        self._findings.add(_PART, f"line {number:,} {what}", _TORN, kind="torn or foreign lines")

    def _judge_torn(self, action: str | None) -> None:
        """What a whole line makes of the torn ones right before it."""
        if action == "memory.torn":
            self._settle_torn()
        elif action not in _SETTLING:
            for number in self._torn_numbers:
                self._no_line(number, "is not JSON")
            self._torn_numbers.clear()

    def _settle_torn(self) -> None:
        """They were left by a process that was killed: their change was never made."""
        self._torn += len(self._torn_numbers)
        self._torn_numbers.clear()

    def _missing(self, first: int, last: int) -> None:
        which = f"line {first:,} is" if first == last else f"lines {first:,} to {last:,} are"
        self._findings.add(_PART, f"{which} missing", _DIFFERS, kind="missing lines")

    def _judge_foreign(self, number: int, fields: dict[str, object]) -> None:
        action, change = fields.get("action"), fields.get("change_id")
        if isinstance(change, str) and store_of(change) == self._store_id:
            self._findings.add(
                _PART,
                f"line {number:,} has the action {shown(action)}, which this version does not know",
                "upgrade rotifer-bridge, or look whether the line was changed by hand",
                kind="unknown actions",
            )
        else:
            self._foreign += 1
            if self._foreign <= _NAMED:
                self._foreign_numbers.append(number)

    def _key(self, number: int, action: str, fields: dict[str, object]) -> str | None:
        """The key that the line is about, if it and the entry's id belong together."""
        key = fields.get("key")
        if action == "memory.erase" and key is None:
            return None
        try:
            whole = isinstance(key, str) and fields.get("entry_id") == entry_id(
                self._agent_id, key.encode()
            )
        except UnicodeEncodeError:
            whole = False
        if not whole:
            self._findings.add(
                _PART,
                f"line {number:,} has an entry_id that is not that of its key",
                "the line was changed by hand: restore the log from a copy",
                kind="wrong ids",
            )
        return key if isinstance(key, str) else None
