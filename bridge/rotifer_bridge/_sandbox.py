"""The walls round a gene's process (design §5): which there are, and the command that builds them.

Each layer is a program that starts the next one. What a machine lacks, or does not allow, is left
out, and `rotifer doctor` says so (`_sandbox_here`). On the cold path: nothing is imported here.
"""

from __future__ import annotations

import os
import sys

from rotifer_bridge._grants import Fence

__all__ = [
    "DATA_BYTES",
    "HEAP_MIB",
    "LIMITS",
    "OPEN_FILES",
    "PROGRAMS",
    "WALLS",
    "environment",
    "fenced",
    "limit_from_outside",
    "node_command",
    "program",
]

HEAP_MIB = 1_024
"""Node's heap [ours]; a gene that needs more says so by running out of it."""
DATA_BYTES = 2 * 1024**3
"""Heap, buffers, WebAssembly memories and stacks together [ours].

The kernel counts private writable memory (RLIMIT_DATA): about 560 MiB of it Node has at its start,
mostly reserved. RLIMIT_AS would count the gigabytes of addresses that V8 reserves and never uses.
"""
OPEN_FILES = 256
_WRITTEN_BYTES = 1024**3  # the largest file where something may be written at all

# Fixed places, not PATH: what stands first on somebody's PATH must not become the wall.
_PLACES = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/nix/store")
_RESOLVER = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl/certs",
)

WALLS = ("bubblewrap", "unshare", "none")
"""From the strongest to none. Node's own permissions and the limits stand behind each of them."""
PROGRAMS = {"bubblewrap": "bwrap", "unshare": "unshare"}
"""The program that builds a wall."""
LIMITS = {"core": 0, "nofile": OPEN_FILES, "data": DATA_BYTES}
"""What the kernel bounds, by prlimit's words for it; the size of files goes by the grants."""


def program(name: str) -> str | None:
    """The path of one of the programs that build layers; None where the machine has none."""
    for place in _PLACES:
        path = f"{place}/{name}"
        if os.path.exists(path):
            return path
    return None


def fenced(wall: str, command: list[str], fence: Fence, always: tuple[str, ...]) -> list[str]:
    """The command that builds a wall, the limits and the tether, and runs another inside.

    Args:
        wall: one of `WALLS`; its program is there.
        command: the program to run, absolute, and its arguments.
        fence: what it may touch.
        always: files and folders it may read in any case.
    """
    if sys.platform != "linux":
        return command
    if wall == "bubblewrap":
        inner = _bubblewrap(command, fence, always)
    elif wall == "unshare":
        inner = _unshare(command, fence)
    else:
        inner = _tethered(command)
    return _limited(inner, fence)


def _limited(command: list[str], fence: Fence) -> list[str]:
    prlimit = program("prlimit")
    if prlimit is None:
        return command
    return [prlimit, *(f"--{what}={most}:{most}" for what, most in _limits(fence)), "--", *command]


def _limits(fence: Fence) -> list[tuple[str, int]]:
    import resource

    wanted = [*LIMITS.items(), ("fsize", _WRITTEN_BYTES if fence.writable else 0)]
    limits = []
    for what, most in wanted:
        # What this process itself is held to cannot be raised: asked to, prlimit starts nothing.
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{what.upper()}"))[1]
        limits.append((what, most if hard == resource.RLIM_INFINITY else min(most, hard)))
    return limits


def limit_from_outside(pid: int, fence: Fence) -> None:
    """Bound a process that has just been started, where there is no prlimit to do it first."""
    if sys.platform != "linux" or program("prlimit") is not None:
        return
    import resource

    for what, most in _limits(fence):
        try:
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{what.upper()}"), (most, most))
        except (OSError, ValueError):
            continue  # it has ended, or is held to less already


def _bubblewrap(command: list[str], fence: Fence, always: tuple[str, ...]) -> list[str]:
    """Namespaces of its own, no capability, and a file system that holds only what is named."""
    argv = [program("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
    argv += ["--cap-drop", "ALL", "--hostname", "gene"]
    for folder in _LIBRARIES:
        if os.path.islink(folder):
            argv += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            argv += ["--ro-bind", folder, folder]
    for path in _node_files(command[0]):
        argv += ["--ro-bind", path, path]
    if fence.network:
        argv.append("--share-net")
        for path in _RESOLVER:
            argv += ["--ro-bind-try", path, path]
    own = () if fence.folder is None else (fence.folder,)
    for path in sorted({*always, *own, *fence.readable}):
        argv += ["--ro-bind", path, path]
    for path in sorted(fence.writable):
        argv += ["--bind", path, path]
    return [*argv, "--remount-ro", "/", "--chdir", "/", "--", *command]


def _node_files(node: str) -> list[str]:
    """The program, and the libraries that stand beside it where it brings its own."""
    found = [node]
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(node))), "lib")
    try:
        own = not lib.startswith("/usr/lib") and any(".so" in name for name in os.listdir(lib))
    except OSError:
        own = False
    return [*found, lib] if own else found


def _unshare(command: list[str], fence: Fence) -> list[str]:
    """Namespaces, but the files of the machine: those only Node's permissions keep from it."""
    argv = [program("unshare") or "unshare", "--user", "--map-current-user", "--pid", "--ipc"]
    argv += ["--uts", "--fork", "--kill-child"]
    if not fence.network:
        argv.append("--net")
    # One setpriv outside ties `unshare` to us, one inside takes the capabilities of the namespace.
    return _tethered([*argv, "--", *_stripped(command)])


def _stripped(command: list[str]) -> list[str]:
    setpriv = program("setpriv")
    if setpriv is None:
        return command
    return [setpriv, *_PRIVILEGES[os.geteuid() == 0], "--", *command]


# Whoever is not root has none left after the exec, and may not change the bounding set.
_PRIVILEGES = {
    False: ("--no-new-privs",),
    True: ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"),
}


def _tethered(command: list[str]) -> list[str]:
    """Killed by the kernel when the thread that spawned it is gone (design §2)."""
    setpriv = program("setpriv")
    return command if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--", *command]


def node_command(
    node: str, shim: str, fence: Fence, inspector: tuple[str, ...], *, hidden: bool
) -> list[str]:
    """Node, with what its own permissions allow.

    Args:
        node: its path.
        shim: the folder of the shim's files.
        fence: what the gene may touch.
        inspector: Node's flags for a debugger.
        hidden: whether what is not granted is not there either; else links that lead out of a
            granted folder would be followed, and such a folder is not granted.
    """
    own = () if fence.folder is None else (fence.folder,)
    paths = (*own, *fence.readable, *fence.writable)
    if hidden:
        readable, writable = list(paths), list(fence.writable)
    else:
        from rotifer_bridge._links import without_ways_out

        # Who may write somewhere could copy a link there, and it leads on from its new place.
        readable = without_ways_out(paths, any_link=bool(fence.writable))
        writable = without_ways_out(fence.writable, any_link=True)
    return [
        node,
        "--permission",
        # A '*' in a granted path would be a wildcard (design §5): such a folder is not granted.
        *(f"--allow-fs-read={path}" for path in (shim, *readable) if "*" not in path),
        *(f"--allow-fs-write={path}" for path in writable),
        "--disable-sigusr1",
        "--no-experimental-sqlite",  # it opens any file, whatever Node's permissions say
        "--freeze-flags-after-init",  # one of V8's flags takes the bounds off WebAssembly's memory
        *inspector,
        f"--max-old-space-size={HEAP_MIB}",
        "--disable-warning=ExperimentalWarning",
        "--disable-warning=SecurityWarning",
        os.path.join(shim, "worker.cjs"),
    ]


_KEPT = ("LANG", "LC_ALL")


def environment() -> dict[str, str]:
    """A fixed list: nothing else of the supervisor's environment reaches a gene."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": "/usr/bin:/bin", "TZ": os.environ.get("TZ") or _time_zone(), **kept}


def _time_zone() -> str:
    """The machine's time zone: inside, there is no /etc/localtime to ask."""
    try:
        _, found, zone = os.readlink("/etc/localtime").partition("/zoneinfo/")
    except OSError:
        found = ""
    if found:
        return zone
    try:
        with open("/etc/timezone", "rb", buffering=0) as file:
            return file.readline(100).decode("ascii").strip() or "UTC"
    except (OSError, ValueError):
        return "UTC"
