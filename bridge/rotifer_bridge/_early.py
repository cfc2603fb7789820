"""The head start of ``agent run``: a worker's process, started before the rest is imported.

Imports nothing but what starting takes (design §5a: spawn first, then import).
"""

from __future__ import annotations

import os

from rotifer_bridge._launch import Launched, launch
from rotifer_bridge._node import Node, find_node
from rotifer_bridge._root import find_root
from rotifer_bridge.errors import RotiferError
from rotifer_shim import SHIM_DIR

__all__ = ["launch_early", "launch_in"]


def launch_in(root: str, node: Node, inspector: tuple[str, ...] = ()) -> Launched:
    """Start a worker's process that may read a project's npm packages, and nothing else of it.

    Args:
        root: the project's folder.
        node: the Node to run.
        inspector: see `launch`.
    """
    modules = os.path.join(root, "node_modules")
    return launch(node.path, SHIM_DIR, [modules] if os.path.isdir(modules) else [], inspector)


def launch_early() -> Launched | None:
    """Start a worker for the project of the working folder; None where that cannot be done.

    Whatever is wrong is said later, by the code that would have started it.
    """
    try:
        root = find_root()
        return None if root is None else launch_in(root, find_node(root))
    except (RotiferError, OSError):
        return None
