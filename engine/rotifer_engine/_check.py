"""Looking for what should not be: the database, an agent's rows, and the audit log against them.

Nothing is changed, nothing repaired. Rows and log are looked at as they were at one moment, the
one at which the store's write lock was held for an instant, while agents go on running.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rotifer_engine._access import is_v2_id
from rotifer_engine._check_log import check_log
from rotifer_engine._findings import Finding, Findings
from rotifer_engine._input import MAX_VALUE_BYTES, check_key
from rotifer_engine._policy import MAX_RETENTION_DAYS
from rotifer_engine._time import DAY_MS
from rotifer_engine.errors import InvalidInput, StorageError

if TYPE_CHECKING:
    from rotifer_engine._ledger import Ledger
    from rotifer_engine._reading import Numbered
    from rotifer_engine._store import Row, Snapshot

__all__ = ["Report", "check_memory"]

_RESTORE = "restore a copy, or export what can be read and import it in a new project"
_MOVE = "export the memory and import it into a new agent"


class Report(NamedTuple):
    """What a check found, and what it looked at.

    Args:
        findings: what should not be; empty when all is well.
        entries: rows of the agent, expired ones too.
        size: bytes of their keys and values.
        lines: lines of the audit log.
        foreign_lines: those of other programs.
        other_lines: those about another database than the one that is there.
        log_whole: whether the log goes back to the agent's first entry; if not, because it was
            rotated, entries that it does not tell of are no finding.
        foreign_numbers: the numbers of the first lines of other programs.
        torn_lines: those that a killed process left half written; no change was made of them.
    """

    findings: list[Finding]
    entries: int = 0
    size: int = 0
    lines: int = 0
    foreign_lines: int = 0
    other_lines: int = 0
    log_whole: bool = False
    foreign_numbers: tuple[int, ...] = ()
    torn_lines: int = 0

    @property
    def ok(self) -> bool:
        """Whether there is no finding."""
        return not self.findings


def check_memory(ledger: Ledger) -> Report:
    """Look at everything; see ``AgentMemory.check``."""
    findings = Findings()
    try:
        log, snapshot = _moment(ledger, findings)
    except StorageError as error:
        findings.add("database", error.message, "")
        return Report(findings.all())
    try:
        sizes: dict[str, int] = {}
        try:
            for fault in snapshot.faults(findings.limit):
                findings.add("database", fault, _RESTORE)
            sizes = _check_rows(ledger.agent_id, snapshot, findings)
            layers = dict(snapshot.layer_sizes())
        except StorageError as error:
            findings.add("database", error.message, "")
            return Report(findings.all())
        entries, size = len(sizes), sum(sizes.values())
        if log is None:
            return Report(findings.all(), entries, size)
        seen = check_log(ledger.agent_id, log, snapshot, sizes, layers, findings)
        return Report(findings.all(), entries, size, *seen)
    finally:
        snapshot.close()
        if log is not None:
            log.close()


def _moment(ledger: Ledger, findings: Findings) -> tuple[Numbered | None, Snapshot]:
    """The log and the store between two changes: nobody can write while both are opened."""
    log: Numbered | None = None
    with ledger.store.begin(ledger.agent_id):
        snapshot = ledger.store.snapshot()
        try:
            log = ledger.audit.reader(ledger.agent_id, snapshot)
        except FileNotFoundError:
            pass  # rotated this instant, or nothing was ever recorded
        except OSError as error:
            findings.add(
                "audit log",
                f"{ledger.audit.path} cannot be read: {error.strerror or error}",
                "put a regular file of your own there",
            )
        except BaseException:
            snapshot.close()
            raise
    return log, snapshot


def _check_rows(agent_id: str, snapshot: Snapshot, findings: Findings) -> dict[str, int]:
    """The size of each key's entry; what is wrong with a row, or with their sum, is a finding."""
    counted, last_order = snapshot.counted(agent_id)
    sizes: dict[str, int] = {}
    total = order = 0
    for row in snapshot.rows(agent_id):
        name = ascii(row.key.decode("utf-8", "backslashreplace"))
        for fault in _faults(row):
            findings.add("entries", f"the entry {name} {fault}", _MOVE, kind=fault[:12])
        if row.order <= order or row.order > last_order:
            findings.add(
                "entries", f"the entry {name} has no place of its own in the update order", _MOVE
            )
        order = row.order
        total += row.size
        sizes[row.key.decode("utf-8", "surrogateescape")] = row.size
    if total != counted:
        findings.add(
            "entries",
            f"the entries have {total:,} bytes of keys and values; {counted:,} are counted "
            "against the quota",
            _MOVE,
        )
    return sizes


def _faults(row: Row) -> Iterator[str]:
    try:
        check_key(row.key.decode())
    except UnicodeDecodeError:
        yield "has a key that is not UTF-8"
    except InvalidInput as error:
        yield f"has a bad key: {error.message}"
    if row.size != len(row.key) + row.value_size:
        yield f"counts as {row.size:,} bytes; it has {len(row.key) + row.value_size:,}"
    if row.value_size > MAX_VALUE_BYTES:
        yield f"has a value of {row.value_size:,} bytes; the limit is {MAX_VALUE_BYTES:,}"
    for what, gene in (("createdBy", row.created_by), ("lastAccessedBy", row.last_accessed_by)):
        if not is_v2_id(gene):
            yield f"has a {what} that is not a v2 identity"
    days = row.max_retention_days
    if days is not None and not 1 <= days <= MAX_RETENTION_DAYS:
        yield f"has a maxRetentionDays of {days:,}"
    end = None if days is None or row.follows_agent else row.updated_at + days * DAY_MS
    if row.expires_at != end:
        yield "expires at another time than its retention policy says"
