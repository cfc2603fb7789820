"""What npm installs for the tests. Where it is missing they fail: a skipped test is soon forgotten."""

from __future__ import annotations

import os

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ASC = ("assemblyscript", "bin", "asc.js")
TSC = ("typescript", "bin", "tsc")


def installed(tool):
    """The path of `ASC` or `TSC`."""
    path = os.path.join(TOP, "node_modules", *tool)
    if not os.path.exists(path):
        pytest.fail(f"npm's {tool[0]} is not installed: run `make node_modules/.ready`", pytrace=False)  # fmt: skip
    return path
