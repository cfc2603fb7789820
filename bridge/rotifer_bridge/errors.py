"""The errors of the bridge, each for the person who reads it.

The family::

    RotiferError                what went wrong, where, and what to do next
    ├── UsageError              a flag, a name or an input that cannot be used
    ├── ProjectError            no project, or one that cannot be read or written
    ├── GeneError               a gene's folder, phenotype or source is not usable (E0001..E0051)
    ├── AgentError              an agent's record is missing, damaged or refused (E0040, E0050)
    ├── NodeError               no Node, or one that is too old
    └── RunError                a run was started and did not give an answer
        ├── GeneFailed          the gene threw, refused, or answered what JSON cannot hold (E0052)
        ├── WorkerDied          the gene's process ended before it answered (E0052)
        ├── RunTimedOut         the gene did not answer within its time limit (E0052)
        └── CompositionFailed   the composition as a whole gave no answer (E0053)

The memory's own errors are ``rotifer_engine.AgentMemoryError``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_bridge._result import Step

__all__ = [
    "AgentError",
    "CompositionFailed",
    "GeneError",
    "GeneFailed",
    "NodeError",
    "ProjectError",
    "RotiferError",
    "RunError",
    "RunTimedOut",
    "UsageError",
    "WorkerDied",
]


class RotiferError(Exception):
    """What went wrong, where, and what to do next.

    Args:
        message: one sentence for a person: what was wrong, the figure, the limit.
        code: the documented code (``E0050``), where there is one (projects.md §3).
        where: the file the message is about, with ``:line`` where that is known.
        help: what to do next.

    ``steps`` are those of the run that it ended, up to and with the one that failed
    (``rotifer_bridge.Step``).
    """

    steps: Sequence[Step] = ()

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        where: str | None = None,
        help: str | None = None,  # noqa: A002 - the word the reader sees
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.where = where
        self.help = help

    def render(self) -> str:
        """The text for stderr: ``error[E0050]: message``, `` --> file``, ``help: ...``."""
        head = f"error[{self.code}]" if self.code else "error"
        # A message may hold text of a gene: its further lines are set off, so that none of them
        # can pass for a line of ours.
        lines = [f"{head}: {self.message}".replace("\n", "\n    ")]
        if self.where:
            lines.append(f" --> {self.where}".replace("\n", "\\n"))
        if self.help:
            lines.append(f"help: {self.help}".replace("\n", "\n    "))
        return "\n".join(lines)


class UsageError(RotiferError):
    """A flag, a name or an input that cannot be used."""


class ProjectError(RotiferError):
    """No project, or one that cannot be read or written."""


class GeneError(RotiferError):
    """A gene's folder, phenotype or source is not usable."""


class AgentError(RotiferError):
    """An agent's record is missing, damaged or refused."""


class NodeError(RotiferError):
    """No Node, or one that is too old."""


class RunError(RotiferError):
    """A run was started and did not give an answer."""


class GeneFailed(RunError):
    """The gene threw, refused, or answered what JSON cannot hold."""


class WorkerDied(RunError):
    """The gene's process ended before it answered."""


class RunTimedOut(RunError):
    """The gene did not answer within its time limit."""


class CompositionFailed(RunError):
    """The composition as a whole gave no answer."""
