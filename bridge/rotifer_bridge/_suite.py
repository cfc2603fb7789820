"""testsuite.json: what a gene is to be tested with, read strictly (projects §5)."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from rotifer_bridge._agent import TIME_LIMIT, TIME_LIMIT_MAX
from rotifer_bridge._files import write_atomic
from rotifer_bridge._json import NotJSON, dump_pretty, kind_of, parse_json
from rotifer_bridge._names import shown
from rotifer_bridge._schema import Fault, check_schema
from rotifer_bridge.errors import GeneError
from rotifer_engine import ABSENT, remedy_of

__all__ = ["SUITE_FILE", "Case", "Suite", "read_suite", "write_suite"]

SUITE_FILE = "testsuite.json"

BYTES_LIMIT = 64 * 1024 * 1024  # [ours]
FUZZ_LIMIT = 100_000  # [ours]

_SUITE_FIELDS = frozenset({"testCases", "config"})
_CASE_FIELDS = frozenset({"input", "expectedOutput", "expectedSchema", "timeout"})
_CONFIG_FIELDS = frozenset({"fuzzIterations", "seed"})


class Case(NamedTuple):
    """One case. What it does not say is ABSENT, because null is a value."""

    input: Any
    expected_output: Any
    expected_schema: Any
    time_limit: float
    """Seconds."""


class Suite(NamedTuple):
    """A whole suite."""

    cases: list[Case]
    fuzz_iterations: int
    seed: int


def read_suite(folder: str) -> Suite | list[Fault] | None:
    """The gene's suite; None where it has none; every fault with its path where it is none.

    Raises:
        GeneError: the file cannot be read, or is not JSON.
    """
    path = os.path.join(folder, SUITE_FILE)
    try:
        # Not through a link out of the gene, and not waiting for whoever writes a FIFO.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            data = file.read(BYTES_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GeneError(
            f"cannot read this: {error.strerror}", where=path, help=remedy_of(error)
        ) from None
    if len(data) > BYTES_LIMIT:
        raise GeneError(f"testsuite.json is over {BYTES_LIMIT:,} bytes", where=path)
    try:
        value = parse_json(data)
    except NotJSON as error:
        raise GeneError(f"testsuite.json {error.told}", where=path) from None
    return _Reader().suite(value)


def write_suite(folder: str, given: object) -> str | None:
    """Write a first suite beside the gene and give its path; None where there is one already.

    Args:
        folder: the gene's.
        given: an input that fits its schema.
    """
    path = os.path.join(folder, SUITE_FILE)
    if os.path.lexists(path):
        return None
    suite = {
        "testCases": [{"input": given, "timeout": 5_000}],
        "config": {"fuzzIterations": 10, "seed": 1},
    }
    write_atomic(path, dump_pretty(suite), 0o644)
    return path


class _Reader:
    """Reads on after a fault, so that all are told at once."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def suite(self, value: object) -> Suite | list[Fault]:
        whole = self._object("$", value, _SUITE_FIELDS)
        cases = whole.get("testCases", ABSENT)
        config = self._object("$.config", whole.get("config", {}), _CONFIG_FIELDS)
        found: list[Case] = []
        if isinstance(cases, list) and cases:
            found = [self._case(f"$.testCases[{n}]", case) for n, case in enumerate(cases)]
        elif isinstance(value, dict):
            what = "is missing" if cases is ABSENT else f"is {kind_of(cases)}"
            what = "has no cases" if cases == [] else what
            self._fault("$.testCases", f"{what}; it needs an array of at least one case")
        iterations = self._whole(config, "fuzzIterations", 10, 1, FUZZ_LIMIT)
        seed = self._whole(config, "seed", 1, -(2**53) + 1, 2**53 - 1)
        return self.faults or Suite(found, iterations, seed)

    def _case(self, path: str, value: object) -> Case:
        case = self._object(path, value, _CASE_FIELDS)
        if isinstance(value, dict) and "input" not in value:
            self._fault(f"{path}.input", "is missing")
        schema = case.get("expectedSchema", ABSENT)
        if schema is not ABSENT:
            try:
                check_schema(schema)
            except GeneError as error:
                self._fault(f"{path}.expectedSchema", error.message)
        timeout = case.get("timeout", ABSENT)
        seconds = TIME_LIMIT
        if timeout is not ABSENT:
            most = TIME_LIMIT_MAX * 1000
            number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
            if number and 0 < timeout <= most:
                seconds = timeout / 1000
            else:
                told = f"is {timeout}" if number else f"is {kind_of(timeout)}"
                self._fault(
                    f"{path}.timeout",
                    f"{told}; it takes milliseconds, more than 0 and at most {most:,.0f}",
                )
        return Case(case.get("input"), case.get("expectedOutput", ABSENT), schema, seconds)

    def _object(self, path: str, value: object, fields: frozenset[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fault(path, f"is {kind_of(value)}, not an object")
            return {}
        for name in value:
            if name not in fields:
                known = ", ".join(sorted(fields))
                self._fault(path, f"has an unknown field {shown(name)}; known are {known}")
        return value

    def _whole(self, config: dict[str, Any], name: str, default: int, low: int, high: int) -> int:
        value = config.get(name, default)
        # JavaScript writes 1.0 and 1 alike.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        told = f"is {value}" if number else f"is {kind_of(value)}"
        self._fault(f"$.config.{name}", f"{told}; it takes a whole number, {low:,} to {high:,}")
        return default

    def _fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))
