"""The telemetry file: one event for each denied access, and only on this machine (memory §9).

Nothing here is ever sent over a network. An event names the entry by its id, never by its key, and
holds no value **[ours]**.
"""

from __future__ import annotations

from collections.abc import Mapping

from rotifer_engine._clock import Clock, SystemClock
from rotifer_engine._files import FileSystem
from rotifer_engine._lines import LineFile
from rotifer_engine._time import format_time
from rotifer_engine.quick import dumps

__all__ = ["Telemetry", "telemetry_enabled"]

_OFF = frozenset({"0", "false", "off"})
_TRACKING_ALLOWED = frozenset({"", "0", "false"})


def telemetry_enabled(environ: Mapping[str, str]) -> bool:
    """Whether the environment leaves the telemetry file on.

    Args:
        environ: ``ROTIFER_TELEMETRY`` of ``0``, ``false`` or ``off`` turns it off, and so does
            ``DO_NOT_TRACK`` set to anything but nothing, ``0`` or ``false``; in any case.
    """
    if environ.get("ROTIFER_TELEMETRY", "").strip().lower() in _OFF:
        return False
    return environ.get("DO_NOT_TRACK", "").strip().lower() in _TRACKING_ALLOWED


class Telemetry:
    """The file of events of a project.

    Args:
        path: usually ``.rotifer/telemetry.jsonl``; made with mode 0600 when it is first needed.
        enabled: False writes nothing, ever.
        files: the file operations.
        clock: gives each event its time.
        lock_timeout_ms: how long another process may hold the file's lock before the event is
            given up.
    """

    def __init__(
        self,
        path: str,
        *,
        enabled: bool = True,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        lock_timeout_ms: int = 200,
    ) -> None:
        self.enabled = enabled
        self._clock = clock or SystemClock()
        self._lines = LineFile(
            path, files or FileSystem(), durable=False, lock_timeout_ms=lock_timeout_ms
        )

    def denied(
        self,
        *,
        agent_id: str,
        gene_id: str | None,
        gene_domain: str | None,
        operation: str,
        entry_id: str | None,
    ) -> None:
        """Record one denied access; a failure to do so changes nothing for the caller."""
        if not self.enabled:
            return
        event = {
            "ts": format_time(self._clock.now_ms()),
            "event": "memory.access_denied",
            "agent_id": agent_id,
            "gene_id": gene_id,
            "gene_domain": gene_domain,
            "operation": operation,
            "entry_id": entry_id,
        }
        line = dumps(event)
        try:
            self._lines.append(lambda _fd, _size: [line])
        except OSError:
            return  # the audit log has the same fact; telemetry is the lesser of the two

    def close(self) -> None:
        """Close the file; a later event opens it again."""
        self._lines.close()
