"""What ``compile`` does without a toolchain: the checks, the identities (projects §3).

A gene that needs memory stays under Node in any case: TypeScript that was compiled to WASM gets
its input and nothing else (memory §12).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge._gene import MANIFEST, load_gene
from rotifer_bridge._identity import content_id, v2_identity
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._names import check_gene_name, shown
from rotifer_bridge._schema import check_schema
from rotifer_bridge._wrap import write_gene_file
from rotifer_bridge.errors import GeneError

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._project import Project

__all__ = ["Compiled", "compile_gene"]

# What the reference looks for, in the source as in what was made of it (wasm-genes §1).
_ASYNC = re.compile(rb"\basync\s+function\s+express\b|\bexpress\s*(?::[^=;{}]*)?=\s*async\b")


class Compiled(NamedTuple):
    """A gene that passed the checks, and its two identities."""

    name: str
    fidelity: str
    gene_id: str
    v2_id: str
    stays: bool
    """Whether it stays under Node: there was nothing to compile."""
    notes: list[str]


def compile_gene(project: Project, name: str, *, check: bool = False) -> Compiled:
    """Check a gene, and make of it what can be made without a toolchain.

    Args:
        project: whose gene it is.
        name: the gene's name.
        check: only look; nothing is written.

    Raises:
        GeneError: E0020 no phenotype, E0021 its keys or schemas, E0022 its domain, E0023 its
            version, E0024 it would have to be compiled to WASM, E0025 it would, and its
            ``express`` is async, E0051 it has no source.
    """
    gene = load_gene(project, check_gene_name(name, code="E0020"), code="E0020")
    _check_schemas(gene)
    if gene.entry is None and not gene.compiled:
        raise GeneError(
            f"gene {shown(name)} has no source",
            code="E0051",
            where=gene.folder,
            help="write index.ts (or index.js, index.mjs) with an 'express' function",
        )
    stays = gene.fidelity == "Hybrid"
    if not stays and gene.entry is not None:
        _refuse_async(gene, gene.entry)
        if not check:
            raise GeneError(
                f"gene {shown(name)} cannot be compiled: this version has no compiler from "
                "TypeScript to WASM",
                code="E0024",
                where=os.path.join(gene.folder, gene.entry),
                help="it runs under Node as it is; a gene that needs memory should stay there "
                "anyway, because TypeScript compiled to WASM has none",
            )
    gene_id, v2_id = content_id(gene.phenotype), v2_identity(gene.phenotype, gene.files)
    if not check:
        _keep_identities(gene, gene_id, v2_id)
    return Compiled(gene.name, gene.fidelity, gene_id, v2_id, stays, gene.notes)


def _check_schemas(gene: Gene) -> None:
    where = os.path.join(gene.folder, "phenotype.json")
    for key in ("inputSchema", "outputSchema"):
        try:
            check_schema(gene.phenotype[key], where=where)
        except GeneError as error:
            raise GeneError(
                f"{key}: {error.message}", code="E0021", where=where, help=error.help
            ) from None


def _refuse_async(gene: Gene, entry: str) -> None:
    source = gene.files[entry]
    found = _ASYNC.search(source)
    if found is not None:
        line = source.count(b"\n", 0, found.start()) + 1
        raise GeneError(
            f"gene {shown(gene.name)}: express is async, and WASM has no event loop to wait in",
            code="E0025",
            where=f"{os.path.join(gene.folder, entry)}:{line}",
            help="leave it under Node, where async works, or write express without async",
        )


def _keep_identities(gene: Gene, gene_id: str, v2_id: str) -> None:
    """Put both identities into the manifest; what else stands there stays."""
    kept: object = None
    try:
        with open(os.path.join(gene.folder, MANIFEST), "rb") as file:
            kept = parse_json(file.read())
    except (FileNotFoundError, NotJSON):
        pass  # a new one says all that is needed
    manifest = {
        **(kept if isinstance(kept, dict) else {"name": gene.name}),
        "geneId": gene_id,
        "geneIdV2": v2_id,
        "domain": gene.domain,
        "fidelity": gene.fidelity,
    }
    write_gene_file(gene.folder, MANIFEST, manifest)
