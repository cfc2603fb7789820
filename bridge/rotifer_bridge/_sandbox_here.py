"""Which walls this machine builds: tried once, remembered in the project (design §5).

A program that is there may still not be allowed to work, in a container say. So a wall is tried
before it is used for the first time after a boot, by the very Node that is to run; what came of
it is kept in a file of the project's private folder, that no gene can write. No gene has a part in
the trial. A trial that fails for want of something that comes and goes (processes, memory,
descriptors) is an error and is not remembered: a machine in need does not lose its walls.
"""

from __future__ import annotations

import os

from rotifer_bridge._grants import Fence
from rotifer_bridge._sandbox import PROGRAMS, WALLS, environment, fenced, program
from rotifer_bridge._spawn import spawn
from rotifer_bridge.errors import NodeError, UsageError

__all__ = ["SWITCH", "once", "tried", "wall_here"]

SWITCH = "ROTIFER_SANDBOX"
"""The environment variable that names the strongest wall to build."""
_FILE = "sandbox"
_MOST = 65_536
_PATIENCE = 5_000  # ms that a trial may take on a busy machine
_MISSING = "not installed"
_WORKS = "works"
# Words of strerror for what may be there again the next time.
_PASSING = ("temporarily unavailable", "Cannot allocate memory", "Too many open files")

_known: dict[str, str] = {}


def wall_here(root: str, node: str) -> str:
    """The strongest wall that this machine builds for this Node.

    Args:
        root: the project's folder, where the outcome is remembered.
        node: the path of the Node.

    Raises:
        NodeError: a trial failed for a reason that may pass.
        UsageError: the environment variable names no wall.
    """
    allowed = os.environ.get(SWITCH) or WALLS[0]
    if allowed not in WALLS:
        raise UsageError(
            f"{SWITCH} is {allowed!r}; it is one of {', '.join(WALLS)}",
            help="unset it: the strongest wall of the machine is then used",
        )
    for wall in WALLS[WALLS.index(allowed) : -1]:
        if tried(root, node, wall) == _WORKS:
            return wall
    return WALLS[-1]


def tried(root: str | None, node: str, wall: str) -> str:
    """What comes of building a wall: ``works``, or why it does not.

    Args:
        root: the project's folder; None remembers nothing.
        node: the path of the Node.
        wall: one of `WALLS`, not the last.

    Raises:
        NodeError: the trial failed for a reason that may pass.
    """
    path = program(PROGRAMS[wall])
    if path is None:
        return _MISSING
    key = _key(path, node)
    if key not in _known:
        kept = {} if root is None else _read(root)
        found = kept.get(key)
        if found is None:
            found = _try(wall, node)
            if root is not None:
                _append(root, key, found)
        _known[key] = found
    return _known[key]


def once(root: str, what: str) -> bool:
    """Whether this is the first time that something is to be said in a project."""
    key = f"said {what}"
    if key in _known or key in _read(root):
        return False
    _known[key] = _WORKS
    _append(root, key, _WORKS)
    return True


def _key(path: str, node: str) -> str:
    """What an outcome holds for: this boot, this user, these two programs."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            boot = file.read(64).decode("ascii").strip()
    except OSError:
        boot = "-"
    parts = [boot, str(os.geteuid())]
    for each in (path, node):
        try:
            parts.append(f"{each} {os.stat(each).st_mtime_ns}")
        except OSError:
            parts.append(each)
    return " ".join(parts).replace("\n", " ").replace("\t", " ")


def _try(wall: str, node: str) -> str:
    """Have a program run inside the wall: Node where it has to be found there first."""
    inside = [program("true") or node] if wall == "unshare" else [node, "--version"]
    null = os.open(os.devnull, os.O_RDWR)
    try:
        reading, writing = os.pipe()
    except OSError:
        os.close(null)
        raise
    try:
        command = fenced(wall, inside, Fence(None, ()), ())
        pid = spawn(command, environment(), {0: null, 1: null, 2: writing})
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
        os.close(null)
    try:
        words = _words(reading, pid)
    finally:
        os.close(reading)
        _, status = os.waitpid(pid, 0)
    if status == 0:
        return _WORKS
    why = words.strip().partition("\n")[0][:200] or f"it ended with status {status}"
    if os.WIFSIGNALED(status) or any(sign in why for sign in _PASSING):
        raise NodeError(
            f"cannot build the sandbox now: {why}",
            code="E0052",
            help="see 'rotifer doctor'; the limits of processes and open files are in 'ulimit -a'",
        )
    return why


def _words(reading: int, pid: int) -> str:
    """What it writes until it ends; it is killed when that takes too long."""
    from select import POLLIN, poll

    waiting = poll()
    waiting.register(reading, POLLIN)
    words = b""
    while waiting.poll(_PATIENCE):
        part = os.read(reading, 4_096)
        if not part:
            return words.decode(errors="replace")
        words = (words + part)[:4_096]
    os.killpg(pid, 9)
    return "it did not come to an end"


def _read(root: str) -> dict[str, str]:
    """What is remembered; nothing where there is no file that can be believed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(os.path.join(root, ".rotifer", "cache", _FILE), flags)
    except OSError:
        return {}
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_mode & 0o170_077 != 0o100_000:
            return {}  # not a file of ours that nobody else can write
        text = os.read(fd, _MOST).decode(errors="replace")
    finally:
        os.close(fd)
    pairs = (line.partition("\t") for line in text.split("\n"))
    return {key: value for key, tab, value in pairs if tab}


def _append(root: str, key: str, value: str) -> None:
    """Remember; where that cannot be done, it is tried again the next time."""
    state = os.path.join(root, ".rotifer")
    cache = os.path.join(state, "cache")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        for folder in (state, cache):
            if os.path.islink(folder):
                return
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
        fd = os.open(os.path.join(cache, _FILE), flags, 0o600)
    except OSError:
        return
    try:
        if os.fstat(fd).st_size > _MOST - 4_096:
            os.ftruncate(fd, 0)  # the oldest boots go with the rest: it is only tried again
        os.write(fd, f"{key}\t{value.replace(chr(9), ' ')}\n".encode(errors="replace"))
    except OSError:
        return
    finally:
        os.close(fd)
