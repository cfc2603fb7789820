"""What ``rotifer doctor`` says of the layers round a gene's process (design §5)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rotifer_bridge._check import Check
from rotifer_bridge._node import find_node
from rotifer_bridge._sandbox import DATA_BYTES, OPEN_FILES, PROGRAMS, WALLS, program
from rotifer_bridge._sandbox_here import SWITCH, tried
from rotifer_bridge._sandbox_note import LACKS
from rotifer_bridge.errors import RotiferError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["layers"]

# By program: what it adds, and what it comes with; without it the other layers stand.
_UTIL_LINUX = {
    "setpriv": "it ends a gene that loops when rotifer is killed, and takes its privileges",
    "prlimit": "it bounds a gene's memory and files",
}
_NAMESPACES = (
    "namespaces may be off for users or in this container: see the sysctls "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns and "
    "user.max_user_namespaces, or the container's seccomp profile"
)


def layers(root: str | None) -> Iterator[Check]:
    """One line for each layer: on, or off and how to turn it on."""
    if sys.platform != "linux":
        yield Check("sandbox", "warn", f"none but Node's own: {LACKS['none']}", "use Linux")
        return
    try:
        node = find_node(root).path
    except RotiferError:
        return  # said by the check of Node
    on = [wall for wall in WALLS[:-1] if _works(wall, node)]
    for wall in WALLS[:-1]:
        yield _wall(wall, node, on)
    for name, purpose in _UTIL_LINUX.items():
        path = program(name)
        if path is None:
            yield Check(name, "warn", f"off: not there; {purpose}", "install util-linux")
        else:
            yield Check(name, "ok", f"on: {path}; {purpose}")
    yield Check(
        "permissions",
        "ok",
        f"on: Node's, with at most {DATA_BYTES:,} bytes of memory and {OPEN_FILES} open files",
    )
    chosen = os.environ.get(SWITCH)
    if chosen and chosen != WALLS[0]:
        yield Check(SWITCH, "warn", f"{chosen}: no stronger wall is built", f"unset {SWITCH}")


def _works(wall: str, node: str) -> bool:
    try:
        return tried(None, node, wall) == "works"
    except RotiferError:
        return False


def _wall(wall: str, node: str, on: list[str]) -> Check:
    path = program(PROGRAMS[wall])
    if wall in on:
        used = "on" if wall == on[0] else f"works; not needed beside {on[0]}"
        return Check(wall, "ok", f"{used}: {path}")
    # unshare stands in for bubblewrap: where that is on, nothing is missing.
    status = "ok" if on and on[0] == WALLS[0] else "warn"
    lack = LACKS[on[0] if on else "none"]
    if path is None:
        remedy = "install bubblewrap" if wall == WALLS[0] else "install util-linux"
        return Check(wall, status, f"off: not there; {lack}", remedy)
    try:
        why = tried(None, node, wall)
    except RotiferError as error:
        why = error.message
    return Check(wall, status, f"off: it does not work here ({why}); {lack}", _NAMESPACES)
