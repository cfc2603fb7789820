"""Waiting for a change of a gene's files, for ``test --watch``."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["Seen", "wait_for_change"]

Seen = dict[str, tuple[int, int, int]]
"""Files by path: when each was changed, its size, its inode."""


def wait_for_change(
    project: Project, gene: str | None, seen: Seen | None, *, every: float = 0.3
) -> Seen:
    """Look at the files until they are not as they were.

    Args:
        project: whose genes they are.
        gene: the gene to look at; None for all.
        seen: how they were; None looks once and does not wait.
        every: seconds between two looks.

    Returns:
        How they are now.
    """
    top = project.genes_dir if gene is None else os.path.join(project.genes_dir, gene)
    while (now := _look(top)) == seen:
        time.sleep(every)
    return now


def _look(top: str) -> Seen:
    found: Seen = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != "node_modules"]
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.stat(path)
            except OSError:
                continue  # it goes away while we look: the next look sees that
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found
