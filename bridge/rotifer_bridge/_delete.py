"""Deleting an agent: its memory first, its record last.

The record is how an agent is found, so as long as anything else of it is there, deleting can be
called again and goes on where it was stopped.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rotifer_bridge._files import lock_folder
from rotifer_bridge.errors import ProjectError
from rotifer_engine import Erased

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["delete_agent"]


def delete_agent(project: Project, name: str) -> Erased:
    """Delete an agent, what it remembers and its fitness file, for good.

    Args:
        project: the project.
        name: the agent's name.

    Returns:
        How many entries it had, and whether their values are gone from the database's files.

    Raises:
        AgentError: there is none (E0050).
        AgentMemoryError: the database or the audit log failed; the agent is still there.
        ProjectError: a file cannot be removed; call again.
    """
    project.make_state_dirs()
    with lock_folder(project.agents_dir):
        record = project.record(name)
        erased = Erased(0, clean=True)
        if project.remembers():  # else there is nothing to open
            erased = project.memory(record).erase()
        fitness = os.path.join(project.agents_dir, f"{record.name}.fitness.json")
        for path in (fitness, record.path):
            try:
                with suppress(FileNotFoundError):
                    os.unlink(path)
            except OSError as error:
                raise ProjectError(
                    f"cannot remove this: {(error.strerror or str(error)).lower()}",
                    where=path,
                    help="its memory is deleted; delete the agent again when the file can be "
                    "removed",
                ) from None
        folder = os.open(project.agents_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return erased
