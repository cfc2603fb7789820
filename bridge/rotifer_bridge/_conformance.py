"""The conformance suite through every door, on every store (``rotifer conformance``)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge.errors import GeneError, UsageError
from rotifer_engine.conformance import Case, Cell, PythonDoor, Report, cases, run_cell

if TYPE_CHECKING:
    from rotifer_engine.conformance import Door, Stage

__all__ = ["DOORS", "Place", "check_doors", "read_doors", "read_stores"]

_PREFIX = "rotifer-conformance-"


def _python(_: str) -> Door:
    return PythonDoor()


def _node(folder: str) -> Door:
    from rotifer_bridge._conformance_node import NodeDoor

    return NodeDoor(folder)


def _wasm(folder: str) -> Door:
    from rotifer_bridge._conformance_wasm import WasmDoor

    return WasmDoor(folder)


def _http(folder: str) -> Door:
    from rotifer_bridge._conformance_http import HttpDoor

    return HttpDoor(folder)


class _Way(NamedTuple):
    """How a door is opened, the extra that it needs (empty for none), and what is in that."""

    open: Callable[[str], Door]
    extra: str
    packages: tuple[str, ...] = ()


#: Every door, in the order of the report.
DOORS: dict[str, _Way] = {
    "python": _Way(_python, ""),
    "node": _Way(_node, ""),
    "wasm": _Way(_wasm, "wasm", ("wasmtime", "msgpack")),
    "http": _Way(_http, "server", ("fastapi", "uvicorn")),
}


class Place(NamedTuple):
    """A store of the report.

    Args:
        name: what it is called there.
        url: where its server is; None for SQLite in a temporary folder.
    """

    name: str
    url: str | None


def read_doors(text: str | None) -> list[str]:
    """The doors that a list names, in the order of the report; all for None.

    Raises:
        UsageError: an unknown one, or none.
    """
    if text is None:
        return list(DOORS)
    wanted = [word.strip() for word in text.split(",")]
    for word in wanted:
        if word not in DOORS:
            from rotifer_bridge._names import shown

            raise UsageError(
                f"--door: {shown(word)} is no door",
                help=f"name one or more of {', '.join(DOORS)}, with commas between them",
            )
    return [door for door in DOORS if door in wanted]


def read_stores(urls: Sequence[str]) -> list[Place]:
    """SQLite, and a store for each URL.

    Raises:
        UsageError: what is given is no URL of a PostgreSQL server; nothing of it is repeated.
    """
    places = [Place("sqlite", None)]
    for url in urls:
        if not url.startswith(("postgresql://", "postgres://")):
            raise UsageError(
                "--store takes the URL of a PostgreSQL server; SQLite is always checked",
                help="write it like postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
            )
        number = len(places)
        places.append(Place("postgres" if number == 1 else f"postgres-{number}", url))
    return places


def check_doors(
    doors: Sequence[str],
    places: Sequence[Place],
    *,
    only: Sequence[Case] | None = None,
    on_cell: Callable[[Cell], object] = lambda _: None,
) -> Report:
    """Play the cases through each door on each store.

    Args:
        doors: names of `DOORS`.
        places: the stores.
        only: the cases; None: all.
        on_cell: told of each door and store when it is through.

    Raises:
        UsageError: a door's extra is not installed.
        StorageError: a store cannot be opened.
    """
    chosen = cases() if only is None else only
    _check_extras(doors)
    cells = []
    for place in places:
        with _stage(place) as stage:
            for name in doors:
                with _opened(name) as door:
                    cells.append(run_cell(door, stage, place.name, chosen))
                on_cell(cells[-1])
    return Report(tuple(cells))


def _check_extras(doors: Sequence[str]) -> None:
    """Say before anything is played which doors cannot be opened, and which of the others can."""
    from importlib.util import find_spec

    lacking = [
        name
        for name in doors
        if any(find_spec(package) is None for package in DOORS[name].packages)
    ]
    if not lacking:
        return
    extras = ",".join(DOORS[name].extra for name in lacking)
    rest = ",".join(name for name in DOORS if name not in lacking)
    doors_need = "door {} needs" if len(lacking) == 1 else "doors {} need"
    raise UsageError(
        f"the {doors_need.format(' and '.join(lacking))} packages that are not installed",
        help=f"pip install 'rotifer-bridge[{extras}]', or leave out what needs them: --door {rest}",
    )


@contextmanager
def _stage(place: Place) -> Iterator[Stage]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=_PREFIX))
        if place.url is None:
            from rotifer_engine import SqliteStore
            from rotifer_engine.conformance import Stage

            path = os.path.join(folder, "state", "playground.db")
            store = stack.enter_context(SqliteStore(path, durable=False))
            stage = Stage(store, folder)
            stack.callback(stage.close)
        else:
            from rotifer_engine.conformance import postgres_stage

            stage = stack.enter_context(postgres_stage(place.url, folder))
        yield stage


@contextmanager
def _opened(name: str) -> Iterator[Door]:
    way = DOORS[name]
    with _folder() as folder:
        try:
            door = way.open(folder)
        except (ModuleNotFoundError, GeneError) as error:
            if not way.extra or (isinstance(error, GeneError) and error.code != "E0024"):
                raise
            others = ",".join(door for door in DOORS if door != name)
            raise UsageError(
                f"the door {name} needs packages that are not installed",
                help=f"pip install 'rotifer-bridge[{way.extra}]', or leave it out: --door {others}",
            ) from None
        try:
            yield door
        finally:
            door.close()


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for a door's small files, gone afterwards; in memory where there is such a place.

    Records and tokens are written with a wait for the disk, which is of no use here. The entries
    are not among them: a place in memory may be too small for these.
    """
    memory = "/dev/shm"  # noqa: S108 - a folder with a name of its own is made in it
    where = memory if os.path.isdir(memory) and os.access(memory, os.W_OK | os.X_OK) else None
    return tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where)
