"""What the host is like: the facts that everyone in the cell may know (layers §1).

Nothing personal is among them: no user, no host name, no address, no path, no file's name. The
kernel's release and the processor's model are left out as well: together they tell machines apart.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rotifer_bridge.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_bridge._project import Project
    from rotifer_engine.layers import SharedSnapshot

__all__ = ["LANGUAGES", "MOST_FILES", "sense"]

#: The ends of file names, and the language that they stand for.
LANGUAGES: dict[str, str] = {
    ".ts": "TypeScript",
    ".mts": "TypeScript",
    ".cts": "TypeScript",
    ".tsx": "TypeScript",
    ".js": "JavaScript",
    ".mjs": "JavaScript",
    ".cjs": "JavaScript",
    ".jsx": "JavaScript",
    ".py": "Python",
    ".rs": "Rust",
    ".go": "Go",
    ".c": "C",
    ".h": "C",
    ".cpp": "C++",
    ".hpp": "C++",
    ".zig": "Zig",
    ".java": "Java",
    ".kt": "Kotlin",
    ".swift": "Swift",
    ".rb": "Ruby",
    ".php": "PHP",
    ".cs": "C#",
    ".sh": "Shell",
    ".sql": "SQL",
    ".wat": "WebAssembly",
    ".wasm": "WebAssembly",
}
MOST_FILES = 10_000
"""So many names are looked at, and no more: a sense of the project, not an inventory."""

_OTHERS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})


def sense(project: Project) -> SharedSnapshot:
    """Look at the host and the project; what cannot be told is left out.

    Args:
        project: the project whose name and languages are meant.
    """
    from rotifer_engine.layers import SharedSnapshot

    system = os.uname()
    facts = {
        "os": f"{system.sysname} {system.machine}",
        "python": ".".join(map(str, sys.version_info[:3])),
        "node": _node(project.root),
        "project": project.name,
        "languages": ", ".join(_languages(project.root)),
    }
    return SharedSnapshot({name: text for name, text in facts.items() if text})


def _node(root: str) -> str:
    """The version of the Node that would run the genes; empty when there is none."""
    from rotifer_bridge._node import find_node, node_version

    try:
        found = find_node(root)
    except NodeError:
        return ""
    return (node_version(found.path) or "").removeprefix("v")


def _languages(root: str) -> list[str]:
    """The languages of the project's own files, those of most files first."""
    counts: dict[str, int] = {}
    for name in _names(root):
        language = LANGUAGES.get(os.path.splitext(name)[1].lower())
        if language is not None:
            counts[language] = counts.get(language, 0) + 1
    return sorted(counts, key=lambda language: (-counts[language], language))


def _names(root: str) -> Iterator[str]:
    """The names of files below a folder, at most so many; links are not followed."""
    left = MOST_FILES
    for _, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _OTHERS)
        for name in sorted(files):
            if left == 0:
                return
            left -= 1
            yield name
