"""The public surface of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rotifer_engine


def test_all_is_sorted_and_complete():
    """Every public name is listed once and can be had."""
    names = rotifer_engine.__all__

    assert set(rotifer_engine._HOME) == set(names)
    assert len(names) == len(set(names))
    assert all(getattr(rotifer_engine, name) is not None for name in names)


def test_unknown_name_is_an_attribute_error():
    """A name that does not exist fails as it does in any module."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        rotifer_engine.Nothing  # noqa: B018


def test_the_run_path_imports_nothing_heavy():
    """What a run needs brings in none of the modules that cost a cold start (design §5a)."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from rotifer_engine import AgentMemory, AuditLog, SqliteStore, Telemetry, perform\n"
        "heavy = {'pydantic', 'asyncio', 'logging', 'dataclasses', 'importlib.metadata',\n"
        "         'subprocess', 'inspect', 'pathlib', 'uuid', 'tempfile', 'shutil'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
