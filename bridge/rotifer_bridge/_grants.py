"""What a gene's process may touch beyond the least: judged here, built into walls by `_sandbox`.

On the cold path (design §5a): a process is started before anything else is imported, and what it
may touch has to be known by then.
"""

from __future__ import annotations

import os

from rotifer_bridge.errors import UsageError

__all__ = ["ALL_HOSTS", "NO_GRANTS", "Fence", "Grants", "fence_of", "parse_grants"]

ALL_HOSTS = "*"
"""The one entry of ``net`` that opens the network itself, not a way through the gateway."""

_KINDS = ("read", "write", "net")
_MOST = 32  # [ours] grants of a kind; who needs more grants the folder around them
_NEVER = ("/proc", "/sys", "/dev")  # other processes' memory and environment, and the machine's


class Grants:
    """What the deployer lets an agent's genes do, on top of what every gene may.

    Args:
        read: files and folders; relative ones stand in the project.
        write: the same, to be changed too.
        net: hosts that are reached through the gateway; ``*`` opens the network as a whole.
    """

    __slots__ = ("net", "read", "write")

    def __init__(
        self, read: tuple[str, ...] = (), write: tuple[str, ...] = (), net: tuple[str, ...] = ()
    ) -> None:
        self.read = read
        self.write = write
        self.net = net

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Grants) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.read, self.write, self.net))

    def __bool__(self) -> bool:
        return bool(self.read or self.write or self.net)

    def __add__(self, more: Grants) -> Grants:
        if not more:  # of nearly every run
            return self
        return Grants(self.read + more.read, self.write + more.write, self.net + more.net)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the gateway lets a gene reach."""
        return tuple(host for host in self.net if host != ALL_HOSTS)

    def to_json(self) -> dict[str, list[str]]:
        """The object of an agent's record; only what is granted stands in it."""
        return {kind: list(getattr(self, kind)) for kind in _KINDS if getattr(self, kind)}

    def lines(self) -> list[str]:
        """One line for a person for each grant."""
        return [f"{kind} {item}" for kind in _KINDS for item in getattr(self, kind)]


NO_GRANTS = Grants()


class Fence:
    """What one process may touch: absolute paths that exist, and whether it has a network."""

    __slots__ = ("folder", "network", "readable", "writable")

    def __init__(
        self,
        folder: str | None,
        readable: tuple[str, ...],
        writable: tuple[str, ...] = (),
        *,
        network: bool = False,
    ) -> None:
        self.folder = folder
        self.readable = readable
        self.writable = writable
        self.network = network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fence) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[object, ...]:
        return self.folder, self.readable, self.writable, self.network


def parse_grants(value: object) -> Grants:
    """The grants of a record, or of a command's options, their form judged.

    Args:
        value: an object with lists of strings under ``read``, ``write`` and ``net``, or None.

    Raises:
        UsageError: it is something else.
    """
    if value is None:
        return NO_GRANTS
    if not isinstance(value, dict):
        raise UsageError("grants are not an object", help=_EXAMPLE)
    unknown = sorted(str(name)[:40] for name in value if name not in _KINDS)
    if unknown:
        raise UsageError(f"grants: {unknown[0]!r} is not one of {', '.join(_KINDS)}", help=_EXAMPLE)
    found = []
    for kind in _KINDS:
        items = value.get(kind, [])
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise UsageError(f"grants: {kind} is not a list of strings", help=_EXAMPLE)
        if len(items) > _MOST:
            raise UsageError(
                f"grants: {kind} has {len(items):,} entries; the limit is {_MOST}",
                help="grant the folder around them",
            )
        for item in items:
            _check_host(item) if kind == "net" else _check_text(item)
        found.append(tuple(dict.fromkeys(items)))
    return Grants(*found)


_EXAMPLE = 'for example: {"read": ["data"], "net": ["api.example.com"]}'


def _check_text(path: str) -> None:
    if not path or "\0" in path:
        raise UsageError("a granted path is empty or holds a NUL", help="name a file or a folder")
    if "*" in path:
        raise UsageError(
            f"cannot grant {path!r}: Node reads '*' in a granted path as a wildcard",
            help="rename it, or grant the folder around it",
        )


def _check_host(host: str) -> None:
    if host == ALL_HOSTS:
        return
    name = host.removeprefix("*.")
    if not name or any(sign in name for sign in "*/@: \t\n\0") or not name.isprintable():
        raise UsageError(
            f"cannot grant the host {host!r}: it is not a host name",
            help="name it as in api.example.com or *.example.com, without a scheme or a port; "
            "'*' opens the network as a whole",
        )


def fence_of(root: str, genes_dir: str, gene: str | None, grants: Grants) -> Fence:
    """What the process of a gene may touch.

    Args:
        root: the project's folder.
        genes_dir: the folder of its genes.
        gene: the gene's name; None where it is not known yet.
        grants: what the deployer grants.

    Raises:
        UsageError: a grant cannot be kept: it is not there, leads elsewhere, or would open what no
            gene may touch.
    """
    readable = []
    modules = os.path.join(root, "node_modules")
    if "*" not in modules and os.path.isdir(modules):
        readable.append(modules)
    folder = None if gene is None else os.path.join(genes_dir, gene)
    if folder is not None and ("*" in folder or os.path.islink(folder)):
        folder = None  # its code is handed over all the same; only its data stays out of reach
    read = [_granted(root, path) for path in grants.read]
    write = [_granted(root, path) for path in grants.write]
    real = os.path.realpath(root)
    kept = (
        (os.path.join(real, ".rotifer"), "the project's memory and records"),
        (os.path.realpath(genes_dir), "the genes, whose code would no longer be what was judged"),
        (os.path.join(real, "node_modules"), "packages that every gene runs"),
        (os.path.join(real, "rotifer.json"), "the project itself"),
    )
    for path in read:
        _keep_out(path, "read", kept[:1])
    for path in write:
        _keep_out(path, "write", kept)
    return Fence(folder, (*readable, *read), tuple(write), network=ALL_HOSTS in grants.net)


def _granted(root: str, path: str) -> str:
    """The absolute path of a grant, if there is such a file and no link stands on the way."""
    whole = os.path.normpath(os.path.join(os.path.realpath(root), path))
    real = os.path.realpath(whole)
    if not os.path.exists(real):
        raise UsageError(
            f"cannot grant {path!r}: there is no such file or folder",
            help="make it first, or take the grant away",
        )
    if real != whole:
        raise UsageError(
            f"cannot grant {path!r}: a symbolic link stands on the way",
            help=f"grant what it leads to, if that is meant: {real}",
        )
    _check_text(whole)
    for never in _NEVER:
        if _inside(whole, never):
            raise UsageError(
                f"cannot grant {path!r}: {never} shows other processes and the machine",
                help="copy what the gene needs into a file",
            )
    return whole


def _keep_out(path: str, what: str, kept: tuple[tuple[str, str], ...]) -> None:
    for place, why in kept:
        if _inside(path, place) or _inside(place, path):
            raise UsageError(
                f"cannot grant to {what} {path!r}: it would open {place} ({why})",
                help="grant a folder beside it",
            )


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
