"""Making a folder of code, or a skill, a gene (projects §3, ``wrap``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._files import write_atomic
from rotifer_bridge._gene import MANIFEST, gene_folder, load_gene, read_phenotype
from rotifer_bridge._identity import content_id
from rotifer_bridge._json import dump_pretty, parse_json
from rotifer_bridge._names import check_domain, check_gene_name, did_you_mean, last_part, shown
from rotifer_bridge._now import now_text
from rotifer_bridge._phenotype import FIDELITIES, NETWORK_DEFAULTS
from rotifer_bridge.errors import GeneError, UsageError

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["Wrapped", "check_fidelity", "new_phenotype", "wrap", "write_gene_file"]

READABLE = 0o644  # genes are sources, not private state
SKILL_FILE = "SKILL.md"
SKILL_LIMIT = 4 * 1024 * 1024

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(name|description):[ \t]*(.*?)[ \t]*$", re.MULTILINE)

# A skill is text for a model: what goes in is a prompt, what comes out a result.
_SKILL_SCHEMAS = {
    "inputSchema": {
        "type": "object",
        "properties": {"prompt": {"type": "string"}},
        "required": [],
    },
    "outputSchema": {"type": "object", "properties": {"result": {"type": "string"}}},
}


class Wrapped(NamedTuple):
    """A gene that was wrapped, and its two identities."""

    name: str
    domain: str
    fidelity: str
    gene_id: str
    v2_id: str
    created: bool
    """Whether the phenotype is new."""
    notes: list[str]


class _Skill(NamedTuple):
    name: str
    description: str
    path: str
    data: bytes


def wrap(
    project: Project,
    name: str,
    *,
    domain: str | None = None,
    fidelity: str | None = None,
    from_skill: str | None = None,
) -> Wrapped:
    """Write what makes the folder a gene: its phenotype, if it has none, and its manifest.

    Args:
        project: whose gene it becomes.
        name: the gene's name; its folder is there already, but for a skill.
        domain: the functional domain; None keeps the phenotype's, or is the project's default.
        fidelity: for a new phenotype.
        from_skill: the path of a SKILL.md, or of its folder.

    Raises:
        GeneError: E0001 no folder, E0002 no SKILL.md, E0003 no front matter, E0004 a bad name or
            domain; nothing was written.
        UsageError: no such fidelity.
    """
    meant = last_part(name)
    if meant is not None:
        raise GeneError(
            f"{shown(name)} is a path, not a gene name",
            code="E0004",
            help=f"the gene's name is enough: rotifer wrap {meant}",
        )
    check_gene_name(name, code="E0004")
    if domain is not None:
        check_domain(domain, code="E0004")
    if fidelity is not None:
        check_fidelity(fidelity)
    folder = os.path.join(project.genes_dir, name)
    skill = None if from_skill is None else _read_skill(project, from_skill)
    if skill is None and not os.path.isdir(folder):
        near = did_you_mean(name, _folders(project))
        remedy = "make the folder and put index.ts into it"
        raise GeneError(
            f"gene folder {shown(name)} does not exist",
            code="E0001",
            where=folder,
            help=f"{near} If not, {remedy}" if near else remedy,
        )
    if os.path.lexists(folder):
        folder = gene_folder(project, name, code="E0001")
    created = not os.path.lexists(os.path.join(folder, "phenotype.json"))
    notes = []
    if created:
        wanted = domain or check_domain(project.default_domain, code="E0004")
        phenotype = new_phenotype(wanted, fidelity or "Wrapped", author=project.author)
        if skill is not None:
            phenotype = {
                **phenotype,
                **_SKILL_SCHEMAS,
                "description": skill.description or f"{skill.name} skill wrapped as gene",
                "source": "skill",
            }
        os.makedirs(folder, exist_ok=True)
        write_gene_file(folder, "phenotype.json", phenotype)
    else:
        phenotype = read_phenotype(folder, name, code="E0001", domain=domain)
        if domain is not None:
            _write_if_changed(folder, phenotype)
        if fidelity is not None and fidelity != phenotype.get("fidelity", "Wrapped"):
            notes.append("the phenotype was there already and keeps its fidelity")
        if skill is not None:
            notes.append("the phenotype was there already and is kept; only SKILL.md was taken")
    if skill is not None and os.path.realpath(skill.path) != os.path.realpath(
        os.path.join(folder, SKILL_FILE)
    ):
        write_atomic(os.path.join(folder, SKILL_FILE), skill.data, READABLE)
    return _seal(project, name, skill, created=created, notes=notes)


def _folders(project: Project) -> list[str]:
    """What could be wrapped: the names of the folders that are there."""
    if not os.path.isdir(project.genes_dir):
        return []
    with os.scandir(project.genes_dir) as entries:
        return [entry.name for entry in entries if entry.is_dir()]


def new_phenotype(domain: str, fidelity: str, *, author: str) -> dict[str, Any]:
    """The phenotype of a gene that says nothing of itself yet: open schemas, version 0.1.0."""
    phenotype: dict[str, Any] = {
        "domain": domain,
        "inputSchema": {"type": "object", "properties": {}, "required": []},
        "outputSchema": {"type": "object"},
        "dependencies": [],
        "version": "0.1.0",
        "author": author,
        "createdAt": now_text(),
        "fidelity": fidelity,
        "transparency": "Open",
    }
    if fidelity == "Hybrid":
        phenotype["network"] = {**NETWORK_DEFAULTS, "allowedDomains": []}
    return phenotype


def check_fidelity(fidelity: str) -> str:
    """The word itself, if it is a fidelity.

    Raises:
        UsageError: it is none.
    """
    if fidelity in FIDELITIES:
        return fidelity
    raise UsageError(
        f"{shown(fidelity)} is not a fidelity", help=f"use one of {', '.join(FIDELITIES)}"
    )


def write_gene_file(folder: str, name: str, value: Mapping[str, Any]) -> None:
    """Write one of the JSON files of a gene."""
    write_atomic(os.path.join(folder, name), dump_pretty(value), READABLE)


def _write_if_changed(folder: str, phenotype: dict[str, Any]) -> None:
    """Leave the text as its author wrote it unless it says something else."""
    with open(os.path.join(folder, "phenotype.json"), "rb") as file:
        if parse_json(file.read()) == phenotype:
            return
    write_gene_file(folder, "phenotype.json", phenotype)


def _seal(
    project: Project, name: str, skill: _Skill | None, *, created: bool, notes: list[str]
) -> Wrapped:
    """Write the manifest, which gives the gene its identity."""
    from rotifer_bridge._identity import v2_identity

    gene = load_gene(project, name, code="E0001")
    gene_id = content_id(gene.phenotype)
    v2_id = v2_identity(gene.phenotype, gene.files)
    manifest = {
        "geneId": gene_id,
        "geneIdV2": v2_id,
        "name": name,
        "domain": gene.domain,
        "fidelity": gene.fidelity,
        "wrappedAt": now_text(),
    }
    if skill is not None:
        manifest["fromSkill"] = os.path.relpath(skill.path, project.root)
    write_gene_file(gene.folder, MANIFEST, manifest)
    if gene.entry is None and not gene.compiled:
        notes = [
            *notes,
            f"the gene is not compiled yet: run 'rotifer compile {name}'"
            if "gene.wasm" in gene.files
            else "the gene has no source yet: write index.ts, then wrap it again",
        ]
    return Wrapped(name, gene.domain, gene.fidelity, gene_id, v2_id, created, notes)


def _read_skill(project: Project, given: str) -> _Skill:
    # Where the person stands comes first; the reference looks from the project's root.
    bases = [os.getcwd(), project.root]
    paths = [os.path.join(base, given) for base in bases]
    paths = [
        path if os.path.basename(path) == SKILL_FILE else os.path.join(path, SKILL_FILE)
        for path in paths
    ]
    path = next((path for path in paths if os.path.isfile(path)), None)
    if path is None:
        raise GeneError(
            "SKILL.md does not exist",
            code="E0002",
            where=paths[0],
            help="give the path of a SKILL.md, or of the folder that holds one",
        )
    with open(path, "rb") as file:
        data = file.read(SKILL_LIMIT + 1)
    if len(data) > SKILL_LIMIT:
        raise GeneError(f"SKILL.md is over {SKILL_LIMIT:,} bytes", code="E0003", where=path)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise GeneError("SKILL.md is not UTF-8", code="E0003", where=path) from None
    front = _FRONT_MATTER.match(text)
    fields = {m[1]: _unquoted(m[2]) for m in _FIELD.finditer(front[1])} if front else {}
    if not fields.get("name"):
        raise GeneError(
            "SKILL.md has no front matter with a name",
            code="E0003",
            where=path,
            help="start the file with three lines: ---, name: THE-NAME, ---",
        )
    return _Skill(fields["name"], fields.get("description", ""), path, data)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
