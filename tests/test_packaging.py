"""What an installed package holds, and how it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile

import pytest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The names in a freshly built wheel."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, TOP],
        check=True,
        capture_output=True,
    )
    [path] = out.iterdir()
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_three_packages_whole(wheel):
    """Every file of the packages under version control is in the wheel, the JavaScript too."""
    listed = subprocess.run(
        ["git", "ls-files", "engine", "bridge", "js-shim/rotifer_shim"],
        cwd=TOP,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    expected = {path.split("/", 1)[1] for path in listed if os.path.exists(os.path.join(TOP, path))}

    assert expected
    assert set() == expected - set(wheel)
    assert "rotifer_shim/worker.cjs" in wheel
    assert {"rotifer_engine/py.typed", "rotifer_bridge/py.typed", "rotifer_shim/py.typed"} <= set(wheel)  # fmt: skip


def test_the_command_is_installed():
    """``rotifer --version`` says the version of the package."""
    with open(os.path.join(TOP, "pyproject.toml"), "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "rotifer"), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert version in done.stdout
