"""Where a project is: looked for before anything else is imported (design §5a)."""

from __future__ import annotations

import os

__all__ = ["CONFIG_FILE", "find_root"]

CONFIG_FILE = "rotifer.json"


def find_root(start: str | os.PathLike[str] | None = None) -> str | None:
    """The nearest folder from ``start`` (default: the working folder) upwards with a rotifer.json.

    Raises:
        OSError: the working folder is gone.
    """
    folder = os.path.abspath(os.fspath(start) if start is not None else os.getcwd())
    while not os.path.isfile(os.path.join(folder, CONFIG_FILE)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder
