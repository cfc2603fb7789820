"""What ``compile`` does: the checks, the module, the identities (projects §3, wasm-genes §5).

A gene that needs memory stays under Node in any case: TypeScript that was compiled to WASM gets
its input and nothing else (memory §12).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge._files import write_atomic
from rotifer_bridge._gene import BYTES_LIMIT, COMPILE_RESULT, COMPILED, MANIFEST, load_gene
from rotifer_bridge._identity import content_id, v2_identity
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._names import check_gene_name, shown
from rotifer_bridge._now import now_text
from rotifer_bridge._schema import check_schema
from rotifer_bridge._wrap import READABLE, write_gene_file
from rotifer_bridge.errors import GeneError, UsageError

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._project import Project

__all__ = ["LANGUAGES", "Compiled", "compile_gene"]

# What the reference looks for, in the source as in what was made of it (wasm-genes §1).
_ASYNC = re.compile(rb"\basync\s+function\s+express\b|\bexpress\s*(?::[^=;{}]*)?=\s*async\b")


LANGUAGES = ("ts", "wasm")
RAW = "gene.wasm"
"""The module of a gene that brings its own, in its folder."""


class Compiled(NamedTuple):
    """A gene that passed the checks, and its two identities."""

    name: str
    fidelity: str
    gene_id: str
    v2_id: str
    stays: bool
    """Whether it stays under Node."""
    notes: list[str]
    size: int | None = None
    """Bytes of the module that was made; None where none was."""
    ir_hash: str | None = None
    verdict: str | None = None
    """The verifier's line."""


def compile_gene(
    project: Project,
    name: str,
    *,
    check: bool = False,
    wasm: str | None = None,
    language: str | None = None,
) -> Compiled:
    """Check a gene, and make its ``gene.ir.wasm`` of a module or of its source.

    Args:
        project: whose gene it is.
        name: the gene's name.
        check: only look; nothing is written.
        wasm: the path of a module that the gene is.
        language: ``ts`` compiles the source, ``wasm`` the given module or the gene's
            ``gene.wasm``; None is what there is: the given module, the source, ``gene.wasm``.

    Raises:
        GeneError: E0020 no phenotype, E0021 its keys or schemas, E0022 its domain, E0023 its
            version, E0024 a toolchain is missing or failed, E0025 its ``express`` is async, E0026
            the module does not pass the verifier, E0051 there is nothing to compile.
        UsageError: the options do not go together, or the file cannot be read.
    """
    gene = load_gene(project, check_gene_name(name, code="E0020"), code="E0020")
    _check_schemas(gene)
    if wasm is not None and language == "ts":
        raise UsageError("--lang ts and --wasm do not go together", help="leave one of them out")
    source = _source(gene, wasm, language)
    if gene.fidelity == "Hybrid":
        if wasm is not None:
            raise UsageError(
                f"gene {shown(name)} is Hybrid, and Hybrid genes stay under Node",
                help="give it another fidelity in its phenotype.json to compile it",
            )
        return _unchanged(gene, check=check, stays=True)
    if source == "source":
        assert gene.entry is not None, "so it was chosen"
        _refuse_async(gene, gene.entry)
        if check:
            return _unchanged(gene, check=True, stays=False)
        from rotifer_bridge._toolchain import compile_typescript

        module = compile_typescript(gene, gene.entry, project.root)
        return _seal(gene, module, os.path.join(gene.folder, gene.entry), check=False)
    if source == "compiled":
        return _unchanged(gene, check=check, stays=False)
    path = wasm if wasm is not None else os.path.join(gene.folder, RAW)
    module = _read_module(path) if wasm is not None else gene.files[RAW]
    return _seal(gene, module, path, check=check)


def _source(gene: Gene, wasm: str | None, language: str | None) -> str:
    """What is compiled: ``module``, ``source``, or nothing because it is ``compiled`` already."""
    if wasm is not None or (language == "wasm" and RAW in gene.files):
        return "module"
    if language != "wasm" and gene.entry is not None:
        return "source"
    if language is None and RAW in gene.files and not gene.compiled:
        return "module"
    if language is None and gene.compiled:
        return "compiled"
    if language == "wasm":
        raise GeneError(
            f"gene {shown(gene.name)} has no {RAW}",
            code="E0051",
            where=gene.folder,
            help="give its module: --wasm FILE",
        )
    raise GeneError(
        f"gene {shown(gene.name)} has no source",
        code="E0051",
        where=gene.folder,
        help="write index.ts (or index.js, index.mjs) with an 'express' function, or give its "
        "module: --wasm FILE",
    )


def _read_module(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(BYTES_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read the module: {error.strerror}",
            where=path,
            help="give the path of a .wasm file",
        ) from None
    if len(data) > BYTES_LIMIT:
        raise UsageError(f"the module is over {BYTES_LIMIT:,} bytes", where=path)
    return data


def _unchanged(gene: Gene, *, check: bool, stays: bool) -> Compiled:
    gene_id, v2_id = content_id(gene.phenotype), v2_identity(gene.phenotype, gene.files)
    if not check:
        _keep_identities(gene, gene_id, v2_id)
    return Compiled(gene.name, gene.fidelity, gene_id, v2_id, stays, gene.notes)


def _seal(gene: Gene, module: bytes, where: str, *, check: bool) -> Compiled:
    """Put the sections into a module, verify it, and make it the gene."""
    from rotifer_bridge._ir import ir_hash, with_sections
    from rotifer_bridge._verify import verify
    from rotifer_bridge._wasm_binary import NotWasm
    from rotifer_bridge._wasm_extra import wasm_api

    wasm_api()
    _refuse_async_module(gene, module, where)
    phenotype = {**gene.phenotype, "fidelity": "Native"}
    phenotype.pop("irHash", None)
    try:
        sealed = with_sections(module, phenotype)
    except NotWasm as error:
        raise _not_verified(gene, f"FAIL: not a WASM module: {error}", where) from None
    verdict = verify(sealed)
    if verdict.failures:
        raise _not_verified(gene, str(verdict), where)
    hashed = ir_hash(sealed)
    phenotype["irHash"] = hashed
    files = {**gene.files, COMPILED: sealed}
    gene_id, v2_id = content_id(phenotype), v2_identity(phenotype, files)
    made = gene._replace(phenotype=phenotype, fidelity="Native", files=files, compiled=True)
    notes = [note for note in gene.notes if "changed since" not in note]
    fault = _cannot_run(made, where)
    if fault is not None:
        notes.append(fault)
    if not check:
        document = {
            "name": gene.name,
            "geneId": gene_id,
            "geneIdV2": v2_id,
            "irHash": hashed,
            "fidelity": "Native",
            "size": len(sealed),
            "verdict": verdict.word,
            "warnings": verdict.warnings,
            "compiledAt": now_text(),
        }
        # The module last: until it is there the gene is what it was.
        write_gene_file(gene.folder, COMPILE_RESULT, document)
        write_gene_file(gene.folder, "phenotype.json", phenotype)
        write_atomic(os.path.join(gene.folder, COMPILED), sealed, READABLE)
        _keep_identities(made, gene_id, v2_id)
    return Compiled(
        gene.name, "Native", gene_id, v2_id, False, notes, len(sealed), hashed, str(verdict)
    )


def _not_verified(gene: Gene, line: str, where: str) -> GeneError:
    return GeneError(
        f"gene {shown(gene.name)}: its module does not pass the verifier: {line}",
        code="E0026",
        where=where,
        help="correct the module and compile it anew; nothing was written",
    )


def _cannot_run(gene: Gene, where: str) -> str | None:
    """Why a module that passes the verifier is not run here, if it is not."""
    from rotifer_bridge._wasm_check import check_module
    from rotifer_bridge._wasm_limits import MEMORY_BYTES

    try:
        check_module(gene.name, gene.files[COMPILED], where, memory_bytes=MEMORY_BYTES)
    except GeneError as error:
        return f"it cannot be run here: {error.message}"
    return None


def _refuse_async_module(gene: Gene, module: bytes, where: str) -> None:
    from rotifer_bridge._wasm_check import ASYNC_TEXTS

    for text in ASYNC_TEXTS:
        if text in module:
            raise GeneError(
                f"gene {shown(gene.name)}: its module holds '{text.decode()}', and WASM has no "
                "event loop to wait in",
                code="E0025",
                where=where,
                help="leave it under Node, where async works, or write express without async",
            )


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
