r"""Run Rotifer agents from Python.

::

    from rotifer_bridge import Project

    with Project.find().agent("my-formatter") as agent:
        result = agent.run({"code": "f(\nx\n)", "indent": 4})
        print(result.output["formatted"])
        for entry in agent.memory.list():
            print(entry.key, entry.size)

The names below are the public ones. They are loaded when they are first used, because the command
line must not wait for what it does not need (design §5a).
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from rotifer_bridge._agent import Agent
    from rotifer_bridge._project import Project
    from rotifer_bridge._result import RunResult, Step
    from rotifer_bridge.errors import (
        AgentError,
        CompositionFailed,
        GeneError,
        GeneFailed,
        NodeError,
        ProjectError,
        RotiferError,
        RunError,
        RunTimedOut,
        UsageError,
        WorkerDied,
    )

__all__ = [
    "Agent",
    "AgentError",
    "CompositionFailed",
    "GeneError",
    "GeneFailed",
    "NodeError",
    "Project",
    "ProjectError",
    "RotiferError",
    "RunError",
    "RunResult",
    "RunTimedOut",
    "Step",
    "UsageError",
    "WorkerDied",
]

_ELSEWHERE = {
    "Agent": "_agent",
    "Project": "_project",
    "RunResult": "_result",
    "Step": "_result",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
