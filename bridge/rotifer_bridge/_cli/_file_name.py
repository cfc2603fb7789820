"""A file's name, as an argument or option of a command."""

from __future__ import annotations

import click

__all__ = ["FILE_NAME"]


class _FileName(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """Any text but none: an empty one is a variable of the shell's that is not set."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself."""
        if not value:
            self.fail("the name of the file is empty", param, ctx)
        return value


FILE_NAME = _FileName()
