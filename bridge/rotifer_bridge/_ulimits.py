"""The limits that this process was started with, and its children with it (``ulimit``).

A process that the kernel ends, or gives no more memory, does not say by which limit.
"""

from __future__ import annotations

import resource

__all__ = ["memory_limits", "time_limits"]

_KIB = 1_024


def memory_limits() -> list[str]:
    """Those on memory that are set, as a shell shows them: ``ulimit -v is 1,000,000 KiB``."""
    kinds = (("-v", resource.RLIMIT_AS), ("-d", resource.RLIMIT_DATA))
    return [
        f"ulimit {flag} is {most // _KIB:,} KiB"
        for flag, kind in kinds
        if (most := _soft(kind)) is not None
    ]


def time_limits() -> list[str]:
    """The same for processor time, in seconds; one at most."""
    most = _soft(resource.RLIMIT_CPU)
    return [] if most is None else [f"ulimit -t is {most:,} s"]


def _soft(kind: int) -> int | None:
    most = resource.getrlimit(kind)[0]
    return None if most == resource.RLIM_INFINITY else most
