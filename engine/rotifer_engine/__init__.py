"""The memory of Rotifer agents: entries, rules, stores and records.

The public names are loaded when they are first used, so that a short run pays only for what it
needs (design §5a).
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)


if TYPE_CHECKING:
    from rotifer_engine._absent import ABSENT, Absent
    from rotifer_engine._access import SCOPES, Caller, is_v2_id
    from rotifer_engine._audit import Audit, AuditLog
    from rotifer_engine._category import CATEGORIES
    from rotifer_engine._check import Report
    from rotifer_engine._clock import Clock, FixedClock, SystemClock
    from rotifer_engine._deployer import DEPLOYER, Erased
    from rotifer_engine._entry import Entry, EntrySummary, entry_id
    from rotifer_engine._ephemeral import EphemeralMemory
    from rotifer_engine._files import FileSystem
    from rotifer_engine._findings import Finding
    from rotifer_engine._import import Imported
    from rotifer_engine._input import MAX_VALUE_BYTES, decode_value
    from rotifer_engine._memory import AgentMemory
    from rotifer_engine._migrate import Migrated, migrate
    from rotifer_engine._move import Moved
    from rotifer_engine._open import OpenedStore, open_store
    from rotifer_engine._policy import (
        DEFAULT_DATA_POLICY,
        SHARE_POLICIES,
        AccessPolicy,
        DataPolicy,
        RetentionPolicy,
    )
    from rotifer_engine._postgres import PostgresStore
    from rotifer_engine._postgres_audit import PostgresAudit
    from rotifer_engine._quota import (
        DEFAULT_QUOTA_BYTES,
        MAX_QUOTA_BYTES,
        format_size,
        parse_quota,
    )
    from rotifer_engine._remedy import remedy_of
    from rotifer_engine._replay import replay
    from rotifer_engine._request import perform, perform_writes
    from rotifer_engine._sqlite import SqliteStore
    from rotifer_engine._store import Store, Transaction
    from rotifer_engine._telemetry import Telemetry, telemetry_enabled
    from rotifer_engine._time import format_time, parse_time
    from rotifer_engine._transfer import Exported, judged_lines
    from rotifer_engine.errors import (
        ERROR_CODES,
        AccessDenied,
        AgentMemoryError,
        EntryNotFound,
        InvalidInput,
        QuotaExceeded,
        StorageError,
    )

_HOME = {
    "ABSENT": "_absent",
    "Absent": "_absent",
    "SCOPES": "_access",
    "Caller": "_access",
    "is_v2_id": "_access",
    "Audit": "_audit",
    "AuditLog": "_audit",
    "CATEGORIES": "_category",
    "Report": "_check",
    "Clock": "_clock",
    "FixedClock": "_clock",
    "SystemClock": "_clock",
    "DEPLOYER": "_deployer",
    "Erased": "_deployer",
    "Entry": "_entry",
    "EntrySummary": "_entry",
    "entry_id": "_entry",
    "EphemeralMemory": "_ephemeral",
    "FileSystem": "_files",
    "Finding": "_findings",
    "Imported": "_import",
    "MAX_VALUE_BYTES": "_input",
    "decode_value": "_input",
    "AgentMemory": "_memory",
    "Migrated": "_migrate",
    "migrate": "_migrate",
    "Moved": "_move",
    "OpenedStore": "_open",
    "open_store": "_open",
    "DEFAULT_DATA_POLICY": "_policy",
    "SHARE_POLICIES": "_policy",
    "AccessPolicy": "_policy",
    "DataPolicy": "_policy",
    "RetentionPolicy": "_policy",
    "PostgresStore": "_postgres",
    "PostgresAudit": "_postgres_audit",
    "DEFAULT_QUOTA_BYTES": "_quota",
    "MAX_QUOTA_BYTES": "_quota",
    "format_size": "_quota",
    "parse_quota": "_quota",
    "remedy_of": "_remedy",
    "replay": "_replay",
    "perform": "_request",
    "perform_writes": "_request",
    "SqliteStore": "_sqlite",
    "Store": "_store",
    "Transaction": "_store",
    "Telemetry": "_telemetry",
    "telemetry_enabled": "_telemetry",
    "format_time": "_time",
    "parse_time": "_time",
    "Exported": "_transfer",
    "judged_lines": "_transfer",
    "ERROR_CODES": "errors",
    "AccessDenied": "errors",
    "AgentMemoryError": "errors",
    "EntryNotFound": "errors",
    "InvalidInput": "errors",
    "QuotaExceeded": "errors",
    "StorageError": "errors",
}

__all__ = [
    "ABSENT",
    "CATEGORIES",
    "DEFAULT_DATA_POLICY",
    "DEFAULT_QUOTA_BYTES",
    "DEPLOYER",
    "ERROR_CODES",
    "MAX_QUOTA_BYTES",
    "MAX_VALUE_BYTES",
    "SCOPES",
    "SHARE_POLICIES",
    "Absent",
    "AccessDenied",
    "AccessPolicy",
    "AgentMemory",
    "AgentMemoryError",
    "Audit",
    "AuditLog",
    "Caller",
    "Clock",
    "DataPolicy",
    "Entry",
    "EntryNotFound",
    "EntrySummary",
    "EphemeralMemory",
    "Erased",
    "Exported",
    "FileSystem",
    "Finding",
    "FixedClock",
    "Imported",
    "InvalidInput",
    "Migrated",
    "Moved",
    "OpenedStore",
    "PostgresAudit",
    "PostgresStore",
    "QuotaExceeded",
    "Report",
    "RetentionPolicy",
    "SqliteStore",
    "StorageError",
    "Store",
    "SystemClock",
    "Telemetry",
    "Transaction",
    "decode_value",
    "entry_id",
    "format_size",
    "format_time",
    "is_v2_id",
    "judged_lines",
    "migrate",
    "open_store",
    "parse_quota",
    "parse_time",
    "perform",
    "perform_writes",
    "remedy_of",
    "replay",
    "telemetry_enabled",
]


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{home}"
    __import__(module)
    value: object = getattr(sys.modules[module], name)
    globals()[name] = value
    return value
