"""A project: the nearest folder upwards that holds ``rotifer.json`` (projects §1)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rotifer_bridge._files import cannot, make_private_dir, refuse_link
from rotifer_bridge._gene import Gene, gene_names, load_gene
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._root import CONFIG_FILE, find_root
from rotifer_bridge.errors import ProjectError, RotiferError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rotifer_bridge._agent import Agent
    from rotifer_bridge._launch import Launched
    from rotifer_bridge._record import AgentRecord
    from rotifer_engine import (
        AgentMemory,
        Audit,
        Erased,
        Moved,
        PostgresStore,
        SqliteStore,
        Telemetry,
    )
    from rotifer_engine.layers import LayerEntry, Layers

__all__ = ["CONFIG_FILE", "Project", "find_root"]

CONFIG_LIMIT = 1024 * 1024


class Project:
    """One project on disk; reads its configuration once, opens nothing else.

    Args:
        root: the folder that holds rotifer.json.

    Raises:
        ProjectError: the configuration cannot be used.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(os.fspath(root))
        self.config = _read_config(os.path.join(self.root, CONFIG_FILE))
        self.genes_dir = self._genes_dir()
        self.state_dir = os.path.join(self.root, ".rotifer")
        self.agents_dir = os.path.join(self.state_dir, "agents")
        self.database_path = os.path.join(self.state_dir, "playground.db")
        self.audit_path = os.path.join(self.state_dir, "audit.jsonl")
        self.telemetry_path = os.path.join(self.state_dir, "telemetry.jsonl")
        self.cache_dir = os.path.join(self.state_dir, "cache")
        self.node_dir = os.path.join(self.state_dir, "node")
        self._shared: tuple[SqliteStore | PostgresStore, Audit, Telemetry] | None = None
        # A planted link in the place of a folder would move the private files elsewhere; the
        # files themselves are judged by whoever opens them.
        refuse_link(self.state_dir)
        refuse_link(self.agents_dir)

    @classmethod
    def find(cls, start: str | os.PathLike[str] | None = None) -> Project:
        """The project that ``start`` (default: the working folder) lies in.

        Raises:
            ProjectError: there is none, or its configuration cannot be used.
        """
        try:
            root = find_root(start)
        except FileNotFoundError:
            raise ProjectError(
                "the working folder is gone", help="change into a folder that exists"
            ) from None
        if root is None:
            raise ProjectError(
                "Not in a Rotifer Agent workspace. Run 'rotifer init' first.",
                help=f"there is no rotifer.json in {os.path.abspath(start or '.')} or a folder "
                "above it: change into a project's folder, or make one with 'rotifer init NAME'",
            )
        return cls(root)

    def __repr__(self) -> str:
        return f"Project({self.root!r})"

    @property
    def name(self) -> str:
        """The project's name."""
        return self._text("name", os.path.basename(self.root))

    @property
    def author(self) -> str:
        """Whom new genes name as their author."""
        return self._text("author", "local-dev")

    @property
    def default_domain(self) -> str:
        """The domain of genes that do not say one."""
        return self._text("default_domain", "general")

    def make_state_dirs(self) -> None:
        """Make the private folders where they are missing, and private where they are not."""
        make_private_dir(self.state_dir)
        make_private_dir(self.agents_dir)

    def gene(self, name: str, *, code: str = "E0040") -> Gene:
        """The gene of this name, read whole; see `load_gene`."""
        return load_gene(self, name, code=code)

    def gene_names(self) -> list[str]:
        """The names of the project's genes, sorted."""
        return gene_names(self)

    def record(self, name: str) -> AgentRecord:
        """The record of the agent of this name; see `find_record`."""
        from rotifer_bridge._record import find_record

        return find_record(self.agents_dir, name)

    def records(self) -> Iterator[AgentRecord | RotiferError]:
        """Every agent's record, or in its place the error that says why it is none."""
        from rotifer_bridge._record import records

        return records(self.agents_dir)

    def agent(self, name: str, *, launched: Launched | None = None) -> Agent:
        """The agent of this name, ready to run.

        Args:
            name: the agent's name.
            launched: a worker's process that is starting already; the agent's from here on.

        Raises:
            AgentError: there is none, or its record cannot be used.
        """
        from rotifer_bridge._agent import Agent

        return Agent(self, self.record(name), launched=launched)

    @property
    def memory_url(self) -> str | None:
        """The URL of the server that the agents remember on; None is the project's own file.

        Raises:
            ProjectError: what is said cannot be a memory's URL.
        """
        from rotifer_bridge._memory_place import memory_url

        return memory_url(self.config, os.path.join(self.root, CONFIG_FILE))

    def remembers(self) -> bool:
        """Whether an agent may ever have remembered anything; asks no server."""
        return self.memory_url is not None or os.path.lexists(self.database_path)

    def memory(self, record: AgentRecord) -> AgentMemory:
        """The memory of this agent, where the project's agents remember.

        Raises:
            ProjectError: a private folder cannot be made, or a link stands in its place; or the
                memory's URL is none.
            AgentMemoryError: the database cannot be opened.
        """
        return self._memory(record, *self._stores())

    def _memory(
        self,
        record: AgentRecord,
        store: SqliteStore | PostgresStore,
        audit: Audit,
        telemetry: Telemetry,
    ) -> AgentMemory:
        from rotifer_engine import AgentMemory

        return AgentMemory(
            store,
            record.id,
            quota_bytes=record.memory_quota_bytes,
            data_policy=record.data_policy,
            audit=audit,
            telemetry=telemetry,
        )

    def layers(self) -> Layers:
        """The layers of the project, where its agents remember.

        On a server they are those of all who use its database.

        Raises:
            ProjectError: a private folder cannot be made, or a link stands in its place; or the
                memory's URL is none.
            AgentMemoryError: the database cannot be opened.
        """
        from rotifer_engine.layers import Layers

        store, audit, _ = self._stores()
        return Layers(store, audit=audit)

    def refresh_environment(self) -> list[LayerEntry]:
        """Look at the host, and make the layer ``environment`` what was found; its entries.

        Raises:
            ProjectError: a private folder cannot be made, or a link stands in its place.
            AgentMemoryError: the database or the audit log failed.
        """
        from rotifer_bridge._sensor import sense

        return self.layers().refresh_environment(sense(self))

    def move_memory(self, name: str, url: str, *, replace: bool = False) -> Moved:
        """Carry an agent's memory to another store; the project goes on using this one.

        Args:
            name: the agent's name.
            url: of the other store: a server, or ``sqlite:``, the project's own file.
            replace: delete what the other store has of the agent, and is not the same.

        Raises:
            AgentError: there is no such agent.
            ProjectError: the URL is of no store.
            AgentMemoryError: a store failed, or the other one has other entries of the agent.
        """
        from rotifer_bridge._memory_place import open_memory_store, read_url

        record = self.record(name)
        target = read_url(url, "--to")
        source = self.memory(record)
        store, audit = open_memory_store(target, self.database_path, self.audit_path)
        try:
            other = self._memory(record, store, audit, self._stores()[2])
            return source.move_to(other, replace=replace)
        finally:
            store.close()
            audit.close()

    def _stores(self) -> tuple[SqliteStore | PostgresStore, Audit, Telemetry]:
        """Where everything is kept and recorded, opened when it is first asked for."""
        from rotifer_bridge._memory_place import open_memory_store
        from rotifer_engine import Telemetry, telemetry_enabled

        if self._shared is None:
            self.make_state_dirs()
            self._shared = (
                *open_memory_store(self.memory_url, self.database_path, self.audit_path),
                Telemetry(self.telemetry_path, enabled=telemetry_enabled(os.environ)),
            )
        return self._shared

    def close(self) -> None:
        """Close the database, if it was opened; a later `memory` opens it again."""
        if self._shared is not None:
            shared, self._shared = self._shared, None
            for part in shared:
                part.close()

    def create_agent(
        self,
        name: str,
        genes: Sequence[str],
        *,
        composition: str | dict[str, Any] = "Seq",
        par_merge: str = "first",
        memory_quota: int | str | None = None,
        on_note: Callable[[str], object] | None = None,
    ) -> Agent:
        """Make an agent and hand it over; nothing is left behind when one of its parts is refused.

        Args:
            name: a new name, by the rule of gene names.
            genes: the genome, in order; at least one gene.
            composition: one of Seq, Par, Cond, Try, TryPool, or a composition object.
            par_merge: for Par: first, concat or merge.
            memory_quota: bytes, or text such as ``50MB``; None is 10 MB.
            on_note: called with each warning, a sentence for a person.

        Raises:
            RotiferError: a name, a gene or an option is refused.
        """
        from rotifer_bridge._create import create_agent

        created = create_agent(
            self,
            name,
            genes,
            composition=composition,
            par_merge=par_merge,
            memory_quota=memory_quota,
        )
        if on_note is not None:
            for warning in created.warnings:
                on_note(warning)
        return self.agent(created.record.name)

    def delete_agent(self, name: str) -> Erased:
        """Delete an agent, all that it remembers, its fitness file and its record, for good.

        Args:
            name: the agent's name.

        Returns:
            How many entries it had, and whether their values are in none of the database's files.

        Raises:
            AgentError: there is none.
            ProjectError: a file cannot be removed; call again to finish.
            AgentMemoryError: the database or the audit log failed; the agent is still there.
        """
        from rotifer_bridge._delete import delete_agent

        return delete_agent(self, name)

    def _text(self, field: str, default: str) -> str:
        value = self.config.get(field)
        return value if isinstance(value, str) and value else default

    def _genes_dir(self) -> str:
        where = os.path.join(self.root, CONFIG_FILE)
        value = self.config.get("genes_dir", "genes")
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ProjectError(
                "genes_dir is not the name of a folder", where=where, help='use "genes"'
            )
        folder = os.path.normpath(os.path.join(self.root, value))
        root = os.path.realpath(self.root)
        real = os.path.realpath(folder)
        if real != root and not real.startswith(root.rstrip("/") + "/"):
            raise ProjectError(
                "genes_dir leaves the project",
                where=where,
                help='name a folder inside the project, such as "genes"',
            )
        return folder


def _read_config(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(CONFIG_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        folder = os.path.dirname(path)
        raise ProjectError(
            f"{folder} is no project: there is no rotifer.json",
            where=path,
            help="give the folder that holds it; Project.find() looks in the folders above, too",
        ) from None
    except OSError as error:
        raise cannot("read", path, error) from None
    if len(data) > CONFIG_LIMIT:
        raise ProjectError(f"rotifer.json is over {CONFIG_LIMIT:,} bytes", where=path)
    try:
        config = parse_json(data)
    except NotJSON as error:
        raise ProjectError(
            f"rotifer.json {error.told}", where=path, help="correct the file by hand"
        ) from None
    if not isinstance(config, dict):
        raise ProjectError("rotifer.json is not an object", where=path)
    return config
