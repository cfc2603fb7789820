"""Links that lead out of what is granted, where only Node's permissions hide the rest (design §5).

Node judges a path by its letters, the kernel by where its links lead: ``link/../x`` is granted as
``x`` beside the link, and opened as ``x`` beside what the link leads to. So it is not enough that a
link leads to a place inside: one that leads nearer to the folder than it stands leads out of it, by
as many ``..`` as it is nearer.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["leads_out", "without_ways_out"]

_MOST_LOOKED_AT = 50_000
_MODULES = "node_modules"
_LAID = (_MODULES, ".pnpm")  # folders of a package manager that hold links to packages


def without_ways_out(paths: Iterable[str], *, any_link: bool) -> list[str]:
    """What of some files and folders can be granted.

    Of a ``node_modules`` with a link out of it, a workspace's say, the other packages can be.

    Args:
        paths: absolute.
        any_link: whether every link counts, wherever it leads; not for ``node_modules``.
    """
    kept = []
    for path in paths:
        if not leads_out(path, any_link=any_link):
            kept.append(path)
        elif os.path.basename(path) == _MODULES:
            kept += _packages(path)
    return kept


def leads_out(folder: str, *, any_link: bool = False) -> bool:
    """Whether a link below a folder leads out of it; also where there is too much to look at.

    Args:
        folder: absolute. Of the project's ``node_modules`` only what a package manager lays is
            looked at: whoever installs a package has run its scripts already.
        any_link: see `without_ways_out`.
    """
    real = os.path.realpath(folder)
    modules = os.path.basename(folder) == _MODULES
    left, seen = [(real, 1)], 0
    while left:
        place, depth = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _MOST_LOOKED_AT:
                        return True
                    if entry.is_symlink():
                        if (any_link and not modules) or not _keeps_in(real, depth, entry.path):
                            return True
                    elif entry.is_dir(follow_symlinks=False) and (
                        not modules or _holds_packages(entry.name)
                    ):
                        left.append((entry.path, depth + 1))
        except NotADirectoryError:
            return False  # a file was granted
        except OSError:
            continue  # what cannot be listed cannot be read by the gene either
    return False


def _holds_packages(name: str) -> bool:
    return name.startswith("@") or name in _LAID


def _keeps_in(folder: str, depth: int, link: str) -> bool:
    """Whether a link, so deep in a folder, leads to a file, or as deep into it or deeper."""
    target = os.path.realpath(link)
    if not target.startswith(folder + "/"):
        return False
    return target.count("/") - folder.count("/") >= depth or not os.path.isdir(target)


def _packages(modules: str) -> Iterator[str]:
    """The packages of a ``node_modules`` that are no links out of it."""
    real = os.path.realpath(modules)
    for name in sorted(os.listdir(modules)):
        path = os.path.join(modules, name)
        if os.path.islink(path):
            if _keeps_in(real, 1, path):
                yield path
        elif not _holds_packages(name) or not leads_out(path):
            yield path
        else:
            for inner in sorted(os.listdir(path)):
                whole = os.path.join(path, inner)
                if not os.path.islink(whole) or _keeps_in(real, 2, whole):
                    yield whole
