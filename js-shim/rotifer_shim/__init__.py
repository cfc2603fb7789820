"""Where the JavaScript files of the shim are.

They run in Node, not here: ``worker.cjs`` is what a gene's process starts with, ``transform.cjs``
what turns TypeScript into JavaScript, ``memory.d.ts`` what an editor reads (design §1, §4).
"""

from __future__ import annotations

import os

__all__ = ["SHIM_DIR", "shim_path"]

SHIM_DIR = os.path.dirname(os.path.abspath(__file__))
"""The folder of the shim's files, absolute."""


def shim_path(name: str) -> str:
    """Say where a file of the shim is.

    Args:
        name: the file's name, such as ``worker.cjs``.

    Returns:
        Its absolute path.
    """
    return SHIM_DIR + os.sep + name
