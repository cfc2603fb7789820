"""Testing a gene: the checks, then its suite, in one warm worker or sandbox (projects §5).

Whatever the gene writes meanwhile goes into memories of the test's own that are on no disk: one for
the check that it runs, one shared by the suite's cases in their order, one for the property. The
project's database, records and agents are never opened.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rotifer_bridge._agent import TIME_LIMIT
from rotifer_bridge._difference import clipped, difference
from rotifer_bridge._door import Door
from rotifer_bridge._failure import Refused
from rotifer_bridge._gene import load_gene
from rotifer_bridge._grants import NO_GRANTS, Grants
from rotifer_bridge._report import Outcome, Report
from rotifer_bridge._runnable import memory_fault
from rotifer_bridge._solo import Solo, check_runnable
from rotifer_bridge._text import shown_path
from rotifer_bridge.errors import GeneError, RotiferError, RunError
from rotifer_engine import ABSENT, Caller, EphemeralMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._gene import Gene
    from rotifer_bridge._project import Project
    from rotifer_bridge._suite import Case, Suite

__all__ = ["NO_PHENOTYPE", "examine"]

NO_PHENOTYPE = "E0010"

CHECKS = {
    1: "phenotype.json has what it needs",
    2: "inputSchema is a JSON Schema",
    3: "outputSchema is a JSON Schema",
    4: "a generated input fits inputSchema",
    5: "there is a source",
    6: "it runs with the generated input",
    7: "the output fits outputSchema",
    8: "gene.ir.wasm is verified",
}


def examine(
    project: Project,
    name: str,
    *,
    required: bool = True,
    trust_unsigned: bool = False,
    grants: Grants = NO_GRANTS,
    on_outcome: Callable[[Outcome], object],
    on_log: Callable[[str, str], object],
    on_note: Callable[[str], object],
) -> Report:
    """Test one gene of a project.

    Args:
        project: whose gene it is.
        name: the gene's name.
        required: False makes a gene that is not there a failed check.
        trust_unsigned: whether a gene that was installed from outside is run under Node.
        grants: what the deployer lets the gene do.
        on_outcome: called with each outcome when it is there.
        on_log: called with the gene's name and each line it prints.
        on_note: called with each warning, a sentence for a person.

    Raises:
        GeneError: there is no such gene, or it has no phenotype.json (E0010).
        NodeError: there is no Node to run it.
    """
    test = _Test(project, name, on_outcome)
    try:
        gene = load_gene(project, name, code=NO_PHENOTYPE)
    except GeneError as error:
        if required and error.code == NO_PHENOTYPE:
            raise
        test.fail("check", 1, CHECKS[1], error)
        return Report(name, test.outcomes, memory=False, memory_note="the gene was not run")
    for line in gene.notes:
        on_note(line)
    fault = memory_fault(gene)
    with ExitStack() as stack:

        def door() -> Door:
            memory = stack.enter_context(EphemeralMemory())
            return Door(memory, Caller(gene.v2_id, gene.domain), on_fault=on_note)

        solo = Solo(
            project,
            gene,
            door(),
            on_log=on_log,
            time_limit=TIME_LIMIT,
            grants=grants,
            on_note=on_note,
        )
        stack.enter_context(solo)
        test.run(gene, solo, door, trust_unsigned=trust_unsigned)
    why = (
        "a memory of the test's own, gone with it"
        if fault is None
        else f"{fault[0]}: every call was denied; {fault[1]}"
    )
    return Report(name, test.outcomes, memory=fault is None, memory_note=why)


class _Test:
    """The outcomes of one test, as they come."""

    def __init__(
        self, project: Project, name: str, on_outcome: Callable[[Outcome], object]
    ) -> None:
        self.outcomes: list[Outcome] = []
        self._project = project
        self._name = name
        self._on_outcome = on_outcome
        self._started = perf_counter()
        self._fuel: int | None = None  # used since the outcome before

    def add(self, outcome: Outcome) -> None:
        """Keep it and tell it, with the time and the fuel since the one before."""
        now = perf_counter()
        took = round((now - self._started) * 1000, 3)
        outcome = outcome._replace(duration_ms=took, fuel=self._fuel)
        self._started, self._fuel = now, None
        self.outcomes.append(outcome)
        self._on_outcome(outcome)

    def fail(self, part: str, number: int, name: str, error: RotiferError) -> None:
        """Keep an error as a failure."""
        where = None if error.where is None else shown_path(error.where)
        self.add(Outcome(part, number, name, "failed", error.message, where, error.help))

    def run(
        self, gene: Gene, solo: Solo, door: Callable[[], Door], *, trust_unsigned: bool
    ) -> None:
        """The checks, then the suite."""
        try:
            check_runnable(gene, sandbox=True, trust_unsigned=trust_unsigned)
            runnable: GeneError | None = None
        except GeneError as error:
            runnable = error
        if runnable is None:
            # Node takes its time to start: the first checks are made meanwhile. What is wrong with
            # the sources, or the module, is said by the check that it runs.
            with suppress(GeneError):
                solo.start()
        self._check(1)
        keys = ("inputSchema", "outputSchema")
        schemas = [self._schema_check(number, gene, key) for number, key in enumerate(keys, 2)]
        self._run_checks(gene, solo, runnable, schemas)
        if gene.compiled:
            self._verify(gene)
        if runnable is None:
            self._suite(gene, solo, door, usable=all(schemas))

    # -- the checks

    def _check(self, number: int, status: str = "passed", message: str | None = None) -> None:
        self.add(Outcome("check", number, CHECKS[number], status, message))

    def _schema_check(self, number: int, gene: Gene, key: str) -> bool:
        from rotifer_bridge._schema import check_schema

        where = os.path.join(gene.folder, "phenotype.json")
        try:
            check_schema(gene.phenotype[key], where=where)
        except GeneError as error:
            self.fail("check", number, CHECKS[number], error)
            return False
        self._check(number)
        return True

    def _run_checks(
        self, gene: Gene, solo: Solo, runnable: GeneError | None, schemas: list[bool]
    ) -> None:
        """Checks 4 to 7."""
        from rotifer_bridge._sample import generated_input
        from rotifer_bridge._schema import faults

        given: Any = None
        fits = schemas[0]
        if fits:
            given = generated_input(gene.phenotype["inputSchema"])
            found = faults(gene.phenotype["inputSchema"], given)
            fits = not found
            self._check(4, *(() if fits else ("failed", f"{clipped(given)}: {found[0]}")))
        else:
            self._check(4, "skipped", "needs check 2")
        if runnable is not None:
            if gene.entry is None and not gene.compiled:
                self.fail("check", 5, CHECKS[5], runnable)
                self._check(6, "skipped", "needs check 5")
            else:  # it is there, but nobody vouches for it, or there is no wasmtime
                self._source_check(gene)
                self.fail("check", 6, CHECKS[6], runnable)
            self._check(7, "skipped", "needs check 6")
            return
        self._source_check(gene)
        if not fits:
            self._check(6, "skipped", "needs check 4")
            self._check(7, "skipped", "needs check 6")
            return
        try:
            output = self._run(solo, given, TIME_LIMIT)
        except (GeneError, RunError) as error:
            error.message += f"; the input was {clipped(given)}"
            self.fail("check", 6, CHECKS[6], error)
            self._check(7, "skipped", "needs check 6")
            return
        self._check(6)
        if schemas[1]:
            found = faults(gene.phenotype["outputSchema"], output)
            self._check(7, *(("failed", f"{clipped(output)}: {found[0]}") if found else ()))
        else:
            self._check(7, "skipped", "needs check 3")

    def _source_check(self, gene: Gene) -> None:
        if gene.entry is None:
            self._check(5, "skipped", "it is WASM alone")
        else:
            self._check(5)

    def _run(self, solo: Solo, given: object, time_limit: float) -> Any:
        try:
            return solo.run(given, time_limit=time_limit)
        finally:
            if solo.fuel is not None:
                self._fuel = (self._fuel or 0) + solo.fuel

    def _verify(self, gene: Gene) -> None:
        from rotifer_bridge._gene import COMPILED
        from rotifer_bridge._verify import verify

        try:
            verdict = verify(gene.files[COMPILED])
        except GeneError as error:  # no wasmtime: check 6 has failed with that already
            self._check(8, "skipped", error.message)
            return
        told = None if verdict.word == "PASS" else str(verdict)
        where = shown_path(os.path.join(gene.folder, COMPILED)) if verdict.failures else None
        status = "failed" if verdict.failures else "passed"
        help_ = None
        if verdict.failures:
            help_ = f"'rotifer compile {gene.name} --wasm FILE' adds what a module has to say"
        self.add(Outcome("check", 8, CHECKS[8], status, told, where, help_))

    # -- the suite

    def _suite(self, gene: Gene, solo: Solo, door: Callable[[], Door], *, usable: bool) -> None:
        from rotifer_bridge._suite import SUITE_FILE, read_suite

        where = shown_path(os.path.join(gene.folder, SUITE_FILE))
        try:
            suite = read_suite(gene.folder)
        except GeneError as error:
            self.fail("suite", 0, SUITE_FILE, error)
            return
        if suite is None:
            told = "there is none; --scaffold writes a first one"
            self.add(Outcome("suite", 0, SUITE_FILE, "skipped", told))
            return
        if isinstance(suite, list):
            for fault in suite:
                self.add(Outcome("suite", 0, SUITE_FILE, "failed", str(fault), where))
            return
        if not usable:
            self.add(Outcome("suite", 0, SUITE_FILE, "skipped", "needs checks 2 and 3"))
            return
        solo.admit(door())
        for number, case in enumerate(suite.cases, 1):
            self._case(gene, solo, number, case)
        solo.admit(door())
        self._property(gene, solo, suite)

    def _case(self, gene: Gene, solo: Solo, number: int, case: Case) -> None:
        from rotifer_bridge._schema import faults

        negative = bool(faults(gene.phenotype["inputSchema"], case.input))
        name = "negative" if negative else "positive"
        try:
            output = self._run(solo, case.input, case.time_limit)
        except Refused as error:
            if negative:
                self.add(Outcome("case", number, name, "passed"))
            else:
                self.fail("case", number, name, error)
            return
        except (GeneError, RunError) as error:
            self.fail("case", number, name, error)
            return
        told: str | None = None
        if case.expected_output is not ABSENT:
            fault = difference(case.expected_output, output)
            told = None if fault is None else f"not the expectedOutput: {fault}"
        elif case.expected_schema is not ABSENT:
            found = faults(case.expected_schema, output)
            told = f"does not fit the expectedSchema: {found[0]}" if found else None
        elif not negative:
            found = faults(gene.phenotype["outputSchema"], output)
            told = f"does not fit the outputSchema: {found[0]}" if found else None
        self.add(Outcome("case", number, name, "passed" if told is None else "failed", told))

    def _property(self, gene: Gene, solo: Solo, suite: Suite) -> None:
        from rotifer_bridge._sample import generated_inputs
        from rotifer_bridge._schema import faults

        name, count = "property", suite.fuzz_iterations
        inputs = generated_inputs(gene.phenotype["inputSchema"], count, suite.seed)
        for number, given in enumerate(inputs, 1):
            which = f"input {number} of seed {suite.seed}: {clipped(given)}"
            try:
                output = self._run(solo, given, TIME_LIMIT)
            except (GeneError, RunError) as error:
                error.message = f"{which}: {error.message}"
                self.fail(name, 0, name, error)
                return
            found = faults(gene.phenotype["outputSchema"], output)
            if found:
                told = f"{which}: the output does not fit the outputSchema: {found[0]}"
                self.add(Outcome(name, 0, name, "failed", told))
                return
        if len(inputs) < count:
            told = f"only {len(inputs):,} of {count:,} inputs that fit inputSchema could be made"
            self.add(Outcome(name, 0, name, "skipped", told))
        else:
            self.add(Outcome(name, 0, name, "passed", f"{count:,} generated inputs"))
