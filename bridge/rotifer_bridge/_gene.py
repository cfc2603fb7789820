"""A gene as it lies in its folder (projects §2).

Every loadable file is read once. The identity is taken over these bytes, the supervisor hands
these bytes to the worker, and so the identity that acts is that of what really runs.
"""

from __future__ import annotations

import os
import stat

from rotifer_bridge._identity import v2_identity
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._names import check_gene_name, did_you_mean, shown
from rotifer_bridge._phenotype import fidelity_of, parse_phenotype
from rotifer_bridge._text import printable
from rotifer_bridge.errors import GeneError
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import Any

    from rotifer_bridge._project import Project

__all__ = [
    "ENTRIES",
    "LOADABLE",
    "Gene",
    "gene_folder",
    "gene_names",
    "kept_identity",
    "load_gene",
    "read_phenotype",
    "refuse_unsigned",
]

# What Node or the supervisor can load as code or data.
LOADABLE = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json", ".wasm")

# Which file is the gene, first match wins: one rule for every command.
ENTRIES = ("index.ts", "index.js", "index.mjs")

MANIFEST = ".gene-manifest.json"  # by `wrap`
CLOUD_MANIFEST = ".cloud-manifest.json"  # by installing or publishing, elsewhere
COMPILED = "gene.ir.wasm"  # its presence makes the gene compiled
COMPILE_RESULT = ".compile-result.json"  # by `compile`

# [ours] A gene is read whole, so its size has a bound.
BYTES_LIMIT = 64 * 1024 * 1024
FILES_LIMIT = 2_000

_LISTED = 10  # how many names an error lists

# Not part of what runs: the phenotype is in the identity by itself, the suite is about the gene.
_LEFT_OUT = frozenset({"phenotype.json", "testsuite.json"})


class Gene(NamedTuple):
    """One gene, with the bytes of everything it can load."""

    name: str
    folder: str
    """Absolute, symbolic links resolved."""
    phenotype: dict[str, Any]
    domain: str
    fidelity: str
    entry: str | None
    """The source file, relative to ``folder``; none for a gene that is WASM alone or a skill."""
    files: dict[str, bytes]
    """By path relative to ``folder``, with ``/``."""
    v2_id: str | None
    """None for a gene that was never wrapped or compiled: it has no memory (memory §12)."""
    compiled: bool
    installed: bool
    """Whether it came from outside: it runs only where somebody says that they trust it."""
    notes: list[str]
    """Lines for stderr: what a person should know about this gene."""


def load_gene(project: Project, name: object, *, code: str = "E0040") -> Gene:
    """The gene of this name.

    Args:
        project: where to look.
        name: checked here, so it may come straight from a record or a command line.
        code: the error code for a gene that does not exist.

    Raises:
        GeneError: no such gene, or one that cannot be read as it stands.
    """
    name = check_gene_name(name, code=code)
    folder = gene_folder(project, name, code=code)
    phenotype = read_phenotype(folder, name, code=code)
    fidelity, note = fidelity_of(phenotype)
    notes = [f"gene {shown(name)}: {note}"] if note else []
    files = _read_files(folder)
    compiled = COMPILED in files
    identity, note = _acting_identity(name, folder, phenotype, files)
    if note:
        notes.append(note)
    return Gene(
        name=name,
        folder=folder,
        phenotype=phenotype,
        domain=phenotype["domain"],
        fidelity=fidelity,
        entry=next((entry for entry in ENTRIES if entry in files), None),
        files=files,
        v2_id=identity,
        compiled=compiled,
        installed=_is_installed(folder),
        notes=notes,
    )


def read_phenotype(
    folder: str, name: str, *, code: str, domain: str | None = None
) -> dict[str, Any]:
    """The phenotype in this folder.

    Args:
        folder: the gene's, symbolic links resolved.
        name: the gene's, for messages.
        code: the error code for a phenotype that does not exist.
        domain: stands in the place of the one that is written there.

    Raises:
        GeneError: there is none, or one that cannot be used.
    """
    path = os.path.join(folder, "phenotype.json")
    try:
        data = _read(folder, path, BYTES_LIMIT)
    except FileNotFoundError:
        raise GeneError(
            f"gene {shown(name)} has no phenotype.json",
            code=code,
            where=folder,
            help=f"run 'rotifer wrap {name}' first",
        ) from None
    return parse_phenotype(data, path, domain=domain)


def refuse_unsigned(gene: Gene, *, sandbox: bool = True) -> None:
    """Raise if the gene came from outside and runs under Node: nobody has said it is trusted.

    Args:
        gene: the gene.
        sandbox: False runs the source of a compiled gene under Node.

    Raises:
        GeneError: it did (projects §7).
    """
    if gene.installed and not (gene.compiled and sandbox):
        raise GeneError(
            f"gene {shown(gene.name)} was installed from outside, and nothing vouches for its code",
            code="E0051",
            where=gene.folder,
            help="read its source; if you trust it, run it with --trust-unsigned",
        )


def gene_names(project: Project) -> list[str]:
    """The names of the project's genes, sorted; a folder with a phenotype.json is a gene."""
    try:
        entries = os.listdir(project.genes_dir)
    except FileNotFoundError:
        return []
    return sorted(
        name
        for name in entries
        if not name.startswith(".")
        and os.path.lexists(os.path.join(project.genes_dir, name, "phenotype.json"))
    )


def gene_folder(project: Project, name: str, *, code: str) -> str:
    """The gene's folder, symbolic links resolved.

    Raises:
        GeneError: there is none, or it lies outside the project.
    """
    path = os.path.join(project.genes_dir, name)
    folder = os.path.realpath(path)
    if not os.path.isdir(folder):
        raise GeneError(
            f"gene {shown(name)} does not exist",
            code=code,
            where=path,
            help=_way_to(name, gene_names(project)),
        )
    if not _inside(folder, os.path.realpath(project.root)):
        raise GeneError(
            f"gene {shown(name)} is a symbolic link out of the project",
            code=code,
            where=path,
            help="copy the gene's folder into the project",
        )
    return folder


def _way_to(name: str, names: list[str]) -> str:
    """What somebody does who asked for a gene that is not there."""
    if not names:
        return "check the name; 'rotifer wrap' makes a folder with code a gene"
    listed = ", ".join(map(printable, names[:_LISTED]))
    if len(names) > _LISTED:
        listed += f" and {len(names) - _LISTED:,} more"
    near = did_you_mean(name, names)
    return f"{near} the project's genes: {listed}" if near else f"the project's genes: {listed}"


def _is_installed(folder: str) -> bool:
    """Whether the gene came from outside; one that was published from here did not."""
    path = os.path.join(folder, CLOUD_MANIFEST)
    if not os.path.lexists(path):
        return False
    try:
        value = parse_json(_read(folder, path, BYTES_LIMIT))
    except (GeneError, FileNotFoundError, NotJSON):
        return True  # what says nothing vouches for nothing
    return not (isinstance(value, dict) and "published_at" in value and "installed_at" not in value)


def _acting_identity(
    name: str, folder: str, phenotype: dict[str, Any], files: dict[str, bytes]
) -> tuple[str | None, str | None]:
    """The v2 identity, and the line that says when it is not the one that ``wrap`` printed."""
    manifest = os.path.join(folder, MANIFEST)
    wrapped = os.path.lexists(manifest)
    if not (wrapped or COMPILED in files or os.path.lexists(os.path.join(folder, COMPILE_RESULT))):
        return None, None
    identity = v2_identity(phenotype, files)
    kept = kept_identity(manifest) if wrapped else None
    if kept is None or kept == identity:
        return identity, None
    return identity, f"gene {shown(name)} changed since it was wrapped; it now acts as {identity}"


def kept_identity(manifest: str) -> str | None:
    """The v2 identity that a manifest keeps, if it keeps one."""
    # A manifest of the reference has no identity of ours, and a damaged one says nothing: the
    # identity that acts is computed in any case.
    try:
        value = parse_json(_read(os.path.dirname(manifest), manifest, BYTES_LIMIT))
    except (GeneError, FileNotFoundError, NotJSON):
        return None
    kept = value.get("geneIdV2") if isinstance(value, dict) else None
    return kept if isinstance(kept, str) else None


def _read_files(folder: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = BYTES_LIMIT
    for path in _loadable(folder, ""):
        if len(files) == FILES_LIMIT:
            raise GeneError(
                f"the gene has more than {FILES_LIMIT:,} loadable files",
                where=folder,
                help="keep data that is not part of the gene outside its folder",
            )
        where = os.path.join(folder, path)
        try:
            data = _read(folder, where, left)
        except FileNotFoundError:
            raise GeneError("this file is not there", where=where) from None
        left -= len(data)
        files[path] = data
    return files


def _loadable(folder: str, under: str) -> list[str]:
    """Relative paths of the loadable files, sorted, so that faults are found in one order."""
    found: list[str] = []
    try:
        with os.scandir(os.path.join(folder, under)) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        where = os.path.join(folder, under)
        raise _unreadable("folder", where, error) from None
    for entry in listed:
        name = entry.name
        path = f"{under}/{name}" if under else name
        if name.startswith(".") or name == "node_modules" or path in _LEFT_OUT:
            continue
        if entry.is_symlink() and os.path.isdir(entry.path):
            raise GeneError(
                "a symbolic link to a folder cannot be part of a gene",
                where=entry.path,
                help="copy the folder in place of the link",
            )
        if entry.is_dir(follow_symlinks=False):
            found.extend(_loadable(folder, path))
        elif name.endswith(LOADABLE):
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                raise GeneError(
                    f"the file name {name!a} is not UTF-8",
                    where=folder,
                    help="rename the file",
                ) from None
            found.append(path)
    return found


def _read(folder: str, path: str, limit: int) -> bytes:
    if os.path.islink(path) and not _inside(os.path.realpath(path), folder):
        raise GeneError(
            "a symbolic link leaves the gene's folder",
            where=path,
            help="copy the file in place of the link",
        )
    # O_NONBLOCK: opening a FIFO must not wait for a writer.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable("file", path, error) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise GeneError("this is not a regular file", where=path)
    with open(fd, "rb", buffering=0) as file:
        if status.st_size > limit:
            raise GeneError(
                f"the gene's loadable files are over {BYTES_LIMIT // 1024 // 1024} MiB; this one "
                f"is {status.st_size:,} bytes",
                where=path,
                help="keep data that is not part of the gene outside its folder",
            )
        return file.readall()


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _unreadable(what: str, where: str, error: OSError) -> GeneError:
    from rotifer_engine import remedy_of

    return GeneError(
        f"cannot read this {what}: {error.strerror}", where=where, help=remedy_of(error)
    )
