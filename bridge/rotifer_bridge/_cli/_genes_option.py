"""``-g a b c``: an option that takes every word up to the next option, as the reference's does."""

from __future__ import annotations

import click

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
        [*_FLAGS], multiple=True, metavar="GENE...", help=f"{text} Takes several: -g one two."
    )


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
