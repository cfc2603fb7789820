"""Where the JavaScript files of the shim are.

They run in Node, not here: ``worker.cjs`` is what a gene's process starts with, ``transform.cjs``
what turns TypeScript into JavaScript, ``memory.d.ts`` what an editor reads (design §1, §4).
"""

from __future__ import annotations

import os

__all__ = ["PROJECT_FILES", "SHIM_DIR", "shim_path"]

SHIM_DIR = os.path.dirname(os.path.abspath(__file__))
"""The folder of the shim's files, absolute."""


def shim_path(name: str) -> str:
    """Say where a file of the shim is.

    Args:
        name: the file's path in the shim's folder, such as ``worker.cjs``.

    Returns:
        Its absolute path.
    """
    return SHIM_DIR + os.sep + name


PROJECT_FILES = {
    "tsconfig.json": shim_path("project/tsconfig.json"),
    "types/memory.d.ts": shim_path("memory.d.ts"),
}
"""What `rotifer init` copies into a new project, so that editors and tsc know what genes import.

Path in the project to the file to copy. The tsconfig.json points ``@rotifer/playground/memory`` at
the copied types; a project that has one of its own keeps it, and adds that ``paths`` entry by hand.
"""
