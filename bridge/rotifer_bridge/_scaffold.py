"""A new project, with a first gene that remembers (projects §1, ``init``)."""

from __future__ import annotations

import errno
import os
import shutil
from typing import Any

from rotifer_bridge._files import PRIVATE_DIR, clear_drafts, write_atomic
from rotifer_bridge._json import dump_pretty
from rotifer_bridge._names import check_domain, shown
from rotifer_bridge._project import CONFIG_FILE, Project
from rotifer_bridge._wrap import (
    READABLE,
    check_fidelity,
    new_phenotype,
    wrap,
    write_gene_file,
)
from rotifer_bridge.errors import ProjectError, UsageError
from rotifer_engine import remedy_of
from rotifer_shim import PROJECT_FILES

__all__ = ["FIRST_GENE", "init_project"]

FIRST_GENE = "hello-world"
NAME_LIMIT = 100

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}

_IGNORED = ".rotifer/\nnode_modules/\ndist/\n*.wasm\n"

_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": [],
}
_OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}},
    "required": ["greeting"],
}

_SOURCE = """\
import type { GeneMemoryAccess } from "@rotifer/playground/memory";

// The agent's memory outlives the run: who was greeted last is remembered.
const KEY = "hello-world/name";

export function express(
  input: { name?: string },
  ctx?: { memory: GeneMemoryAccess },
): { greeting: string } {
  if (input.name !== undefined) {
    ctx?.memory.writeMemory(KEY, new TextEncoder().encode(input.name), "PREFERENCE");
    return { greeting: `Hello, ${input.name}!` };
  }
  const saved = ctx?.memory.readMemory(KEY, "PREFERENCE");
  const name = saved ? new TextDecoder().decode(saved.value) : "stranger";
  return { greeting: `Hello again, ${name}!` };
}
"""


def init_project(
    path: str, *, domain: str = "general", fidelity: str = "Wrapped", first_gene: bool = True
) -> Project:
    """Make a project's folder, whole or not at all.

    Args:
        path: the folder to make; its last part is the project's name. Parents are made.
        domain: the project's default domain, and the first gene's.
        fidelity: the first gene's.
        first_gene: whether to make ``genes/hello-world``.

    Raises:
        RotiferError: a bad path, domain or fidelity, or the folder is there; nothing was made.
    """
    check_domain(domain)
    check_fidelity(fidelity)
    name = _checked_name(path)
    folder = os.path.abspath(path)
    if os.path.lexists(folder):
        raise _exists(path, folder)
    # Built beside its place and moved there: what stops half-way leaves no half project.
    beside = os.path.dirname(folder)
    own = int.from_bytes(os.urandom(4), "big")  # a process may make two at once
    draft = os.path.join(beside, f".{name}.{os.getpid()}{own}.tmp")
    clear_drafts(beside, f".{name}.", ".tmp")
    try:
        os.makedirs(beside, exist_ok=True)
        os.mkdir(draft)
        try:
            _fill(draft, name, domain)
            if first_gene:
                _write_first_gene(Project(draft), domain, fidelity)
            _move(draft, folder, path)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise ProjectError(
            f"cannot make the project: {error.strerror}",
            where=error.filename or folder,
            help=remedy_of(error),
        ) from None
    return Project(folder)


def _move(draft: str, folder: str, path: str) -> None:
    """Give the draft its place, unless something came to be there meanwhile."""
    try:
        os.rename(draft, folder)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        raise _exists(path, folder) from None


def _exists(path: str, folder: str) -> ProjectError:
    return ProjectError(
        f"{shown(path)} exists already",
        where=folder,
        help="choose another name, or remove it first",
    )


def _checked_name(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    name = os.path.basename(path.rstrip("/"))
    if ".." in parts:
        raise UsageError(
            f"{shown(path)} leads out of the folder: '..' is not allowed",
            help="change into the folder that the project belongs in, then name it",
        )
    if not name or not path.isprintable() or name.startswith((".", "-")) or "\\" in name:
        raise UsageError(
            f"{shown(path)} is not a project name", help="use letters, digits, '-', '_' and '.'"
        )
    if len(name) > NAME_LIMIT:
        raise UsageError(f"project name is {len(name)} characters; the limit is {NAME_LIMIT}")
    return name


def _fill(folder: str, name: str, domain: str) -> None:
    for part in ("genes", "tests"):
        os.mkdir(os.path.join(folder, part))
    for private in (".rotifer", os.path.join(".rotifer", "agents")):
        os.mkdir(os.path.join(folder, private), PRIVATE_DIR)
    config = {
        "name": name,
        "version": "0.1.0",
        "author": "local-dev",
        "genes_dir": "genes",
        "default_domain": domain,
    }
    write_atomic(os.path.join(folder, CONFIG_FILE), dump_pretty(config), READABLE)
    write_atomic(os.path.join(folder, ".gitignore"), _IGNORED.encode(), READABLE)
    # Editors and tsc learn from these what `@rotifer/playground/memory` is.
    for place, source in PROJECT_FILES.items():
        target = os.path.join(folder, place)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(source, "rb") as file:
            write_atomic(target, file.read(), READABLE)


def _write_first_gene(project: Project, domain: str, fidelity: str) -> None:
    folder = os.path.join(project.genes_dir, FIRST_GENE)
    os.mkdir(folder)
    phenotype = new_phenotype(domain, fidelity, author=project.author)
    phenotype |= {"inputSchema": _INPUT_SCHEMA, "outputSchema": _OUTPUT_SCHEMA}
    write_gene_file(folder, "phenotype.json", phenotype)
    write_atomic(os.path.join(folder, "index.ts"), _SOURCE.encode(), READABLE)
    wrap(project, FIRST_GENE)
