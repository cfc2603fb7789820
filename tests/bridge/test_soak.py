"""The soak of ``make soak``, for a short while."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SOAK = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "benchmarks", "soak.py")


@pytest.mark.timeout(120)
def test_a_short_soak_is_flat():
    """Memory, descriptors, threads and children are the same after hundreds of runs."""
    done = subprocess.run(
        [sys.executable, SOAK, "--seconds", "20"], capture_output=True, text=True, check=False
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert 4 == done.stdout.count("flat")
