"""Whose identity is it: the names of the project's genes by their v2 identities.

The memory knows its genes by identity alone (memory §2); a person knows them by name.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from rotifer_bridge._gene import MANIFEST, kept_identity, load_gene
from rotifer_bridge.errors import RotiferError

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["names_by_identity", "short_identity"]

_DIGITS = 12


def names_by_identity(project: Project) -> dict[str, str]:
    """The gene that has each identity now, or had it when it was wrapped last.

    Genes that are the same in every byte share an identity: their names stand together.
    """
    now: dict[str, str] = {}
    before: dict[str, str] = {}
    for name in project.gene_names():
        with suppress(RotiferError):  # what cannot be read now may have been wrapped before
            _add(now, load_gene(project, name).v2_id, name)
        _add(before, kept_identity(os.path.join(project.genes_dir, name, MANIFEST)), name)
    return {**before, **now}


def short_identity(identity: str) -> str:
    """Enough of an identity to tell it from others."""
    kind, colon, digits = identity.partition(":")
    return f"{kind}{colon}{digits[:_DIGITS]}…" if len(digits) > _DIGITS else identity


def _add(names: dict[str, str], identity: str | None, name: str) -> None:
    if identity is not None:
        names[identity] = f"{names[identity]}, {name}" if identity in names else name
