"""The head start of ``agent run``: a worker's process, started before the rest is imported.

Imports nothing but what starting takes (design §5a: spawn first, then import).
"""

from __future__ import annotations

import os

from rotifer_bridge._foresee import foreseen
from rotifer_bridge._grants import NO_GRANTS, Fence, fence_of
from rotifer_bridge._launch import Launched, launch
from rotifer_bridge._node import Node, find_node
from rotifer_bridge._root import find_root
from rotifer_bridge.errors import RotiferError
from rotifer_shim import SHIM_DIR

__all__ = ["launch_early", "launch_in"]


def launch_in(
    root: str, node: Node, inspector: tuple[str, ...] = (), *, fence: Fence | None = None
) -> Launched:
    """Start a worker's process.

    Args:
        root: the project's folder.
        node: the Node to run.
        inspector: see `launch`.
        fence: what it may touch; left out, the project's npm packages and nothing else of it.
    """
    fence = fence or fence_of(root, os.path.join(root, "genes"), None, NO_GRANTS)
    return launch(node.path, SHIM_DIR, root, fence, inspector)


def launch_early(words: list[str]) -> Launched | None:
    """Start a worker for the project of the working folder; None where that cannot be done.

    Whatever is wrong is said later, by the code that would have started it.

    Args:
        words: what stands behind ``agent run`` on the command line.
    """
    try:
        root = find_root()
        fence = None if root is None else foreseen(root, words)
        if root is None or fence is None:
            return None
        node = find_node(root)
        launched = launch_in(root, node, fence=fence)
    except (RotiferError, OSError):
        return None
    from rotifer_bridge._transformer_start import start_ahead

    try:
        start_ahead(node.path, os.path.join(root, ".rotifer", "cache"), fence.folder)
    except OSError:
        return launched  # whoever needs one says why it cannot be started
    return launched
