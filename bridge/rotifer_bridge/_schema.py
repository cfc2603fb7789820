"""JSON Schema for inputs, outputs and hand-overs between genes.

The library is ``jsonschema_rs``, loaded only when `_quick_fit` cannot answer. The draft is what
``$schema`` says, draft-07 where it says nothing or nothing known; nothing is ever fetched.
"""

from __future__ import annotations

from rotifer_bridge._names import shown
from rotifer_bridge._quick_fit import is_plain, surely_fits
from rotifer_bridge.errors import GeneError
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from jsonschema_rs import ValidationError, Validator

    from rotifer_bridge._gene import Gene

__all__ = ["Fault", "check_schema", "faults", "load_library", "misfits", "needs_library"]

FAULTS_LIMIT = 20  # a wrong list of a million items is one mistake, not a million lines
MESSAGE_LIMIT = 300


class Fault(NamedTuple):
    """One thing that does not fit."""

    path: str
    """Where in the value: ``$`` is the whole, ``$.items[0].name`` a part."""
    message: str
    """What is wrong there; the value itself is not in it."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def needs_library(schema: object) -> bool:
    """Whether judging by this schema is likely to need the library: load it while Node boots."""
    return not is_plain(schema)


def load_library() -> None:
    """Import the library now, so that a later `faults` does not wait for it."""
    import jsonschema_rs  # noqa: F401


def faults(schema: object, value: object, *, where: str | None = None) -> list[Fault]:
    """What keeps the value from fitting the schema; an empty list when it fits.

    Args:
        schema: the JSON Schema: an object or a boolean.
        value: any JSON value.
        where: the file of the schema, for the error.

    Raises:
        GeneError: the schema is none, or refers to something outside itself.
    """
    try:
        if surely_fits(schema, value):
            return []
    except RecursionError:
        pass  # deeper than the quick check goes; the library goes deeper
    validator = _validator(schema, where)
    found: list[Fault] = []
    try:
        for error in validator.iter_errors(value):
            if len(found) == FAULTS_LIMIT:
                found.append(Fault("$", f"and more: only the first {FAULTS_LIMIT} are shown"))
                break
            found.append(Fault(_path(error.instance_path), _one_line(error.message)))
    except (ValueError, RecursionError) as error:
        # The library takes no lone surrogates; what cannot be judged does not fit.
        why = (
            "is not well-formed Unicode" if isinstance(error, UnicodeError) else "cannot be judged"
        )
        return [Fault("$", f"some text or number in it {why}")]
    return found


def misfits(gene: Gene, key: str, value: object) -> list[str]:
    """What does not fit in a gene's input or output: a sentence each.

    Args:
        gene: whose it is.
        key: ``inputSchema`` or ``outputSchema``.
        value: the input or the output.

    Raises:
        GeneError: the schema cannot be used (E0052).
    """
    try:
        found = faults(gene.phenotype[key], value)
    except GeneError as error:
        from rotifer_bridge._text import shown_path

        raise GeneError(
            f"gene '{gene.name}': its {key} cannot be used: {error.message}",
            code="E0052",
            where=shown_path(f"{gene.folder}/phenotype.json"),
            help=error.help or f"correct the {key}",
        ) from None
    what = key.removesuffix("Schema")
    return [f"gene '{gene.name}': the {what} does not fit its {key}: {fault}" for fault in found]


def check_schema(schema: object, *, where: str | None = None) -> None:
    """Raise unless the schema is one that can be used here.

    Raises:
        GeneError: it is not JSON Schema, or refers to something outside itself.
    """
    _validator(schema, where)


def _validator(schema: object, where: str | None) -> Validator:
    import jsonschema_rs

    if not isinstance(schema, (dict, bool)):
        raise GeneError("a JSON Schema is an object or a boolean", where=where)
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    cls: Any = jsonschema_rs.Draft7Validator
    if isinstance(declared, str) and declared.rstrip("#") in _DRAFTS:
        cls = getattr(jsonschema_rs, _DRAFTS[declared.rstrip("#")])
    try:
        validator: Validator = cls(schema, retriever=_refuse, mask="the value")
    except jsonschema_rs.ValidationError as error:
        _refuse_schema(error, where)
    except (ValueError, RecursionError) as error:
        raise GeneError(
            f"the schema cannot be read: {_one_line(str(error))}", where=where
        ) from None
    return validator


_DRAFTS = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}


class _NeverError(Exception):
    """Nothing is ever fetched: the answer to every address."""


def _refuse(uri: str) -> NoReturn:
    raise _NeverError(uri)


def _refuse_schema(error: ValidationError, where: str | None) -> NoReturn:
    message = _one_line(error.message)
    if "not present in a registry" in message:
        target = message.partition("'")[2].partition("'")[0]
        raise GeneError(
            f"the schema refers to {shown(target)}, outside itself; nothing is ever fetched",
            where=where,
            help="copy what it refers to into 'definitions' and use '#/definitions/NAME'",
        ) from None
    if "does not exist" in message:
        raise GeneError(f"the schema refers to what it lacks: {message}", where=where) from None
    raise GeneError(
        f"not a JSON Schema: at {_path(error.instance_path)}: {message}", where=where
    ) from None


def _path(steps: list[str | int]) -> str:
    parts = ["$"]
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.isidentifier() and step.isascii():
            parts.append(f".{step}")
        else:
            parts.append(f"[{_one_line(ascii(step))}]")
    return "".join(parts)


def _one_line(text: str) -> str:
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text.split("\n\n", 1)[0])
    return line if len(line) <= MESSAGE_LIMIT else line[:MESSAGE_LIMIT] + "…"
