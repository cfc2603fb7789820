"""``-g a b c``: an option that takes every word up to the next option, as the reference's does."""

from __future__ import annotations

import click

from rotifer_bridge._names import last_part, shown
from rotifer_bridge.errors import GeneError

__all__ = ["GenesCommand", "genes_option"]

_FLAGS = ("-g", "--genes")


class GenesCommand(click.Command):
    """A command whose ``-g`` takes several names at once; click knows options of one value only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spell ``-g a b`` out as ``-g a -g b``, then parse as ever."""
        return super().parse_args(ctx, _spelled_out(args))


def genes_option(text: str) -> click.Option:
    """The option itself."""
    return click.Option(
        [*_FLAGS],
        multiple=True,
        metavar="GENE...",
        callback=_checked,
        help=f"{text} Takes several: -g one two.",
    )


def _checked(_: click.Context, __: click.Parameter, genes: tuple[str, ...]) -> tuple[str, ...]:
    """Say how several are given, and that a name is no path, where the spelling shows a slip."""
    for gene in genes:
        if "," in gene:
            several = " ".join(part for part in gene.split(",") if part)
            raise GeneError(
                f"{shown(gene)} is not a gene name",
                code="E0040",
                help=f"several genes stand one after the other: -g {several}",
            )
        meant = last_part(gene)
        if meant is not None:
            raise GeneError(
                f"{shown(gene)} is a path, not a gene name",
                code="E0040",
                help=f"the gene's name is enough: -g {meant}",
            )
    return genes


def _spelled_out(args: list[str]) -> list[str]:
    spelled: list[str] = []
    taking = first = False
    for index, word in enumerate(args):
        if word == "--":
            return spelled + args[index:]
        if word in _FLAGS:
            taking = first = True
            spelled.append(word)
        elif taking and not word.startswith("-"):
            # The first name follows its own flag; each further one gets a flag of its own.
            spelled += [word] if first else [_FLAGS[0], word]
            first = False
        else:
            taking = False
            spelled.append(word)
    return spelled
