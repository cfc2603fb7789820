"""A project with one relay gene for each role of a case: it makes the calls that it is told."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from rotifer_bridge._project import Project
from rotifer_engine import Caller
from rotifer_engine.conformance import DOMAINS, NOBODY

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene

__all__ = ["RELAY", "make_project", "make_relays"]

RELAY = os.path.join(os.path.dirname(__file__), "_relay")
"""Where the relay's sources are."""


def make_project(folder: str) -> Project:
    """An empty project in a folder that is there."""
    _write(folder, "rotifer.json", b'{"name":"conformance"}')
    project = Project(folder)
    project.make_state_dirs()
    return project


def make_relays(
    project: Project, file: str, source: bytes
) -> tuple[dict[str, Gene], dict[str, Caller]]:
    """A gene for each role, all with one source, each with an identity of its own.

    Args:
        project: where they are made.
        file: what the source is called.
        source: its bytes.

    Returns:
        The genes, and who they are to the memory, by role.
    """
    genes, callers = {}, {}
    for role, domain in DOMAINS.items():
        name = role.lower()
        folder = os.path.join(project.genes_dir, name)
        phenotype = {
            "domain": domain,
            "description": f"the relay of {role}",
            "inputSchema": {},
            "outputSchema": {},
            "version": "1.0.0",
        }
        _write(folder, "phenotype.json", json.dumps(phenotype).encode())
        _write(folder, file, source)
        if role != NOBODY:
            _write(folder, ".gene-manifest.json", json.dumps({"name": name}).encode())
        gene = genes[role] = project.gene(name)
        # Whatever is compiled has an identity in a project; a module without one must be told so.
        callers[role] = Caller(None if role == NOBODY else gene.v2_id, gene.domain)
    return genes, callers


def _write(folder: str, name: str, data: bytes) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
