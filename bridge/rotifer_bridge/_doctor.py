"""``rotifer doctor``: is everything here that a run needs, and is it as it should be."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator

from rotifer_bridge._check import Check
from rotifer_bridge._doctor_layers import layers
from rotifer_bridge._gene import refuse_unsigned
from rotifer_bridge._names import shown
from rotifer_bridge._node import MINIMUM, candidates, find_node, too_old
from rotifer_bridge._node_install import node_version
from rotifer_bridge._project import Project, find_root
from rotifer_bridge._record import AgentRecord, FaultyRecord, duplicate_names
from rotifer_bridge._runnable import agent_fault, gene_fault, memory_fault
from rotifer_bridge._tokens import TOKENS_NAME, TokenFile
from rotifer_bridge.errors import NodeError, ProjectError, RotiferError

__all__ = ["Check", "examine"]

PYTHON_MINIMUM = (3, 11)
PYNNG = "0.9."  # the private options in use were measured on this series (design §2)

_LITTLE_ROOM = 16 * 1024 * 1024
"""Free bytes below which changes may fail [ours]: the log beside the database takes some 4 MiB."""

# What to do where an error does not say it itself.
_CORRECT = "correct it, then run 'rotifer doctor' again"
_REMEDIES = {
    "project": "correct rotifer.json",
    "state folder": "see that .rotifer and what is in it are yours",
    "database": "do what it says, then run 'rotifer doctor' again; the file holds what agents "
    "remember, so keep a copy of it and of its -wal and -shm",
    "audit log": "see that it is a file of yours that can be written",
}


def examine(start: str | None = None) -> list[Check]:
    """Look at everything, from ``start`` (default: the working folder).

    Changes nothing but what opening the project's files for writing changes.
    """
    root = find_root(start)
    checks = [_python(), _node(root), _package("pynng", PYNNG), _package("jsonschema-rs", "")]
    if root is None:
        checks.append(Check("project", "warn", "none here", "'rotifer init NAME' makes one"))
    else:
        checks.extend(_project(root))
    checks.extend(layers(root))
    return checks


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < PYTHON_MINIMUM:
        return Check("python", "fail", f"{version}; 3.11 or later is needed", "install one")
    return Check("python", "ok", f"{version} at {sys.executable}")


def _node(root: str | None) -> Check:
    try:
        node = find_node(root)
        version = node_version(node.path)
    except NodeError as error:
        return Check("node", "fail", error.message + _at(error), error.help or _node_help())
    detail = f"{version} from {node.source}: {node.path}"
    if too_old(version):
        needed = f"{MINIMUM[0]}.{MINIMUM[1]}"
        return Check("node", "fail", f"{detail}; {needed} or later is needed", _node_help())
    there = [source for source, path in candidates(root) if path and os.path.isfile(path)]
    others = there[there.index(node.source) + 1 :] if node.source in there else []
    if others:
        detail += f" (it comes before the one from {' and '.join(others)})"
    return Check("node", "ok", detail)


def _node_help() -> str:
    return "'rotifer node install' brings one; ROTIFER_NODE names one"


def _package(name: str, series: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(name, "fail", "not installed", f"pip install '{name}'")
    if not found.startswith(series):
        return Check(
            name, "warn", f"{found}; made for {series}*", f"pip install '{name}=={series}*'"
        )
    return Check(name, "ok", found)


def _project(root: str) -> Iterator[Check]:
    try:
        project = Project(root)
    except ProjectError as error:
        yield _failed("project", error)
        return
    yield Check("project", "ok", f"{project.name} at {root}")
    yield from _tried_all("genes", lambda: _genes(project))
    yield from _tried_all("agents", lambda: _agents(project))
    yield _tried("state folder", lambda: _state(project))
    yield _tried("disk", lambda: _room(project))
    yield _tried("database", lambda: _database(project))
    yield _tried("audit log", lambda: _audit(project))
    yield _tried("tokens", lambda: _tokens(project))


def _genes(project: Project) -> list[Check]:
    """One line for each gene that cannot be read or cannot remember, or one for all that can."""
    names = project.gene_names()
    faults = []
    for name in names:
        try:
            fault = memory_fault(project.gene(name))
        except RotiferError as error:
            fault = f"gene {shown(name)}: {error.message}{_at(error)}", error.help or _CORRECT
        if fault is not None:
            faults.append(Check("genes", "warn", *fault))
    return faults or [Check("genes", "ok", f"{len(names)}")]


def _agents(project: Project) -> list[Check]:
    """One line for each thing that would end an agent's run, or one for all that can be run."""
    listed = list(project.records())
    good = [record for record in listed if isinstance(record, AgentRecord)]
    faults = [
        (_whose(error) + error.message + _at(error), error.help or _CORRECT)
        for error in [*listed, *duplicate_names(good)]
        if isinstance(error, RotiferError)
    ]
    for record in good:
        faults.extend(_run_faults(project, record))
    return [Check("agents", "warn", *fault) for fault in faults] or [
        Check("agents", "ok", f"{len(good)}")
    ]


def _whose(error: RotiferError) -> str:
    name = error.name if isinstance(error, FaultyRecord) else None
    return "" if name is None else f"the record of agent {shown(name)} is faulty: "


def _run_faults(project: Project, record: AgentRecord) -> Iterator[tuple[str, str]]:
    fault = agent_fault(record)
    if fault is not None:
        yield fault
    for name in dict.fromkeys(record.genome):
        try:
            gene = project.gene(name)
            fault = gene_fault(gene)
            if fault is None:
                refuse_unsigned(gene)
        except RotiferError as error:
            fault = error.message, error.help or _CORRECT
        if fault is not None:
            yield f"agent {shown(record.name)}: {fault[0]}", fault[1]


def _state(project: Project) -> Check:
    paths = [
        project.state_dir,
        project.agents_dir,
        project.database_path,
        project.database_path + "-wal",
        project.database_path + "-shm",
        project.audit_path,
        project.telemetry_path,
    ]
    present = [path for path in paths if os.path.lexists(path)]
    if present and not os.path.isdir(project.state_dir):
        what = f"no folder: {project.state_dir}"
        return Check("state folder", "fail", what, "move it away; the next run makes the folder")
    links = [path for path in present if os.path.islink(path)]
    if links:
        return Check(
            "state folder", "fail", f"symbolic link: {', '.join(links)}", "remove the link"
        )
    open_ones = [path for path in present if stat.S_IMODE(os.lstat(path).st_mode) & 0o077]
    if open_ones:
        return Check(
            "state folder",
            "warn",
            f"others may read {', '.join(os.path.relpath(p, project.root) for p in open_ones)}",
            f"chmod -R go= '{project.state_dir}'",
        )
    if not present:
        return Check("state folder", "ok", "not there yet; the first run makes it")
    closed = [path for path in present if not os.access(path, os.W_OK)]
    if closed:
        return Check(
            "state folder",
            "fail",
            f"may not be written: {', '.join(os.path.relpath(p, project.root) for p in closed)}",
            f"chmod -R u+rwX '{project.state_dir}'",
        )
    return Check("state folder", "ok", f"private: {project.state_dir}")


def _room(project: Project) -> Check:
    place = project.state_dir if os.path.isdir(project.state_dir) else project.root
    disk = os.statvfs(place)
    free = disk.f_bavail * disk.f_frsize
    if free < _LITTLE_ROOM:
        return Check("disk", "fail", f"{free:,} bytes are free for {place}", "make room")
    return Check("disk", "ok", f"{free:,} bytes are free")


def _tokens(project: Project) -> Check:
    path = os.path.join(project.state_dir, TOKENS_NAME)
    count = len(TokenFile(path).tokens())
    return Check("tokens", "ok", f"{count:,} for the HTTP service" if count else "none yet")


def _server(project: Project, url: str) -> Check:
    from rotifer_bridge._memory_place import open_memory_store
    from rotifer_engine import AgentMemory, Telemetry

    store, audit = open_memory_store(url, project.database_path, project.audit_path)
    try:
        telemetry = Telemetry(project.telemetry_path, enabled=False)
        AgentMemory(store, "doctor", audit=audit, telemetry=telemetry).usage()
    finally:
        store.close()
    return Check("database", "ok", f"{audit.path} answers, its tables are there")


def _database(project: Project) -> Check:
    url = project.memory_url
    if url is not None:
        return _server(project, url)
    if not os.path.lexists(project.database_path):
        return Check("database", "ok", "not there yet; the first run makes it")
    from rotifer_engine import AgentMemory, AuditLog, SqliteStore, Telemetry

    store = SqliteStore(project.database_path)
    try:
        # Any question opens the file and looks at its tables; this one changes nothing.
        AgentMemory(
            store,
            "doctor",
            audit=AuditLog(project.audit_path),
            telemetry=Telemetry(project.telemetry_path, enabled=False),
        ).usage()
    finally:
        store.close()
    size = os.path.getsize(project.database_path)
    return Check("database", "ok", f"opens, its tables are there, {size:,} bytes")


def _audit(project: Project) -> Check:
    if not os.path.lexists(project.audit_path):
        return Check("audit log", "ok", "not there yet; the first change makes it")
    from rotifer_engine import FileSystem

    files = FileSystem()
    fd = files.open_private(project.audit_path, create=False)
    size = files.size(fd)
    files.close(fd)
    return Check("audit log", "ok", f"can be written, {size:,} bytes")


def _tried(name: str, check: Callable[[], Check]) -> Check:
    [only] = _tried_all(name, lambda: [check()])
    return only


def _tried_all(name: str, check: Callable[[], list[Check]]) -> list[Check]:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a doctor reports what fails, whatever it is
        return [_failed(name, error)]


def _failed(name: str, error: Exception) -> Check:
    remedy = _REMEDIES.get(name, _CORRECT)
    if isinstance(error, RotiferError):
        return Check(name, "fail", error.message + _at(error), error.help or remedy)
    if isinstance(error, OSError) and isinstance(error.filename, str):
        return Check(name, "fail", f"{error.strerror}: {error.filename}", remedy)
    return Check(name, "fail", str(error) or type(error).__name__, remedy)


def _at(error: RotiferError) -> str:
    return f" ({error.where})" if error.where else ""
