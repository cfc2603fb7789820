"""A gene that is WASM: loaded, run in this process, and held to its limits (wasm-genes §1, §4)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rotifer_bridge._failure import unreadable
from rotifer_bridge._gene import COMPILED
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._names import shown
from rotifer_bridge._wasm_check import WASI, check_module
from rotifer_bridge._wasm_limits import TABLE_ELEMENTS, TABLES, Limits
from rotifer_bridge.errors import GeneError, RunError

try:
    from rotifer_bridge import _wasm_api as api
    from rotifer_bridge import _wasm_clock as clock
    from rotifer_bridge._wasm_cache import ready_module
    from rotifer_bridge._wasm_direct import express
    from rotifer_bridge._wasm_instance import Instance, why_over
    from rotifer_bridge._wasm_link import Linked
    from rotifer_bridge._wasm_log import LogLines
    from rotifer_bridge._wasm_run import Run
    from rotifer_bridge._wasm_signals import SetAside
    from rotifer_bridge._wasm_wasi import command
except ModuleNotFoundError as missing:
    from rotifer_bridge._wasm_extra import missing_extra

    raise missing_extra(missing) from None

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._door import ClosedDoor, Door
    from rotifer_bridge._gene import Gene

__all__ = ["WasmGene"]

_BOM = b"\xef\xbb\xbf"


class WasmGene:
    """A gene's module, compiled and ready; each run has an instance of its own.

    Runs of one take turns; those of two, in two threads, are truly parallel.

    Args:
        gene: the gene; its ``gene.ir.wasm`` is what runs.
        door: its way to a memory.
        cache_dir: where compiled modules are kept (design §4).
        on_log: called with the gene's name and each line it prints, by the thread that is in
            ``run``.
        agent_id: whose gene it is; None outside an agent.
        limits: what a run may use but its time.

    Raises:
        GeneError: it is no module, or not one that can be run here: says what is missing.
    """

    def __init__(
        self,
        gene: Gene,
        door: Door | ClosedDoor,
        *,
        cache_dir: str,
        on_log: Callable[[str, str], object],
        agent_id: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = gene.name
        self.on_log = on_log
        self.limits = limits or Limits()
        self.fuel_used = 0
        """By the last run."""
        self._door = door
        self._agent_id = agent_id
        self._turn = threading.Lock()
        self._closed = False
        wasm = gene.files[COMPILED]
        where = f"{gene.folder}/{COMPILED}"
        checked = check_module(gene.name, wasm, where, memory_bytes=self.limits.memory_bytes)
        self._mode, self._allocates = checked.mode, checked.allocates
        try:
            self._linked = Linked(ready_module(wasm, cache_dir), checked.imports)
        except api.Refused as error:
            raise GeneError(
                f"gene {shown(gene.name)}: its module cannot be used: {error}",
                code="E0051",
                where=where,
                help="compile it again: rotifer compile, with --wasm and the module it was made of",
            ) from None

    def admit(self, door: Door | ClosedDoor) -> None:
        """Give the gene another way to a memory, between two runs."""
        self._door = door

    def close(self) -> None:
        """Free the module; a run that is going on ends with an error. May be repeated."""
        self._closed = True
        run = self._linked.run
        if run is not None:
            run.cancelled = True
        self._free()

    def _free(self) -> None:
        # Whoever has the turn frees it after: that may be this very thread, in on_log.
        if self._turn.acquire(blocking=False):
            try:
                self._linked.close()
            finally:
                self._turn.release()

    def run(self, given: bytes, *, time_limit: float) -> bytes:
        """Run the gene once.

        Args:
            given: the input, as compact JSON.
            time_limit: seconds.

        Returns:
            The output, as JSON.

        Raises:
            GeneFailed: it trapped, gave an error code, used up its fuel or its memory, or gave no
                JSON value.
            RunTimedOut: its time was used up.
            RunError: the gene is closed, or there is no thread or memory to run it with.
        """
        try:
            with self._turn:
                if self._closed:
                    raise RunError(f"gene '{self.name}' is closed", code="E0052")
                return self._run(given, time_limit)
        finally:
            if self._closed:
                self._free()

    def _run(self, given: bytes, time_limit: float) -> bytes:
        log = LogLines(self._log)
        store = api.store_new(api.engine(), None, None)
        try:
            context = api.store_context(store)
            run = Run(
                self.name,
                context,
                self._door,
                log,
                agent_id=self._agent_id,
                limits=self.limits,
                time_limit=time_limit,
            )
            api.store_limiter(store, self.limits.memory_bytes, TABLE_ELEMENTS, 1, TABLES, 1)
            api.set_fuel(context, self.limits.fuel)
            self._linked.watch(store, context)
            self._linked.run = run
            run.cancelled = self._closed
            try:
                clock.enter()
            except RuntimeError as error:
                raise RunError(
                    f"cannot run gene '{self.name}': {error}",
                    code="E0052",
                    help="the system is out of threads; see 'ulimit -u'",
                ) from None
            try:
                with SetAside(run.end_with):
                    text = self._called(run, given)
                if run.over():
                    raise why_over(run)  # nothing had looked since
            finally:
                clock.leave()
                self.fuel_used = self.limits.fuel - run.fuel()
        finally:
            self._linked.run = None
            api.store_delete(store)
            log.end(self.name)
        return self._checked(text)

    def _called(self, run: Run, given: bytes) -> bytes:
        instance = Instance(self._linked.pre, run)
        if self._mode == WASI:
            return command(instance, given)
        return express(instance, given, allocates=self._allocates)

    def _log(self, line: str) -> None:
        self.on_log(self.name, line)

    def _checked(self, text: bytes) -> bytes:
        text = text.removeprefix(_BOM)  # parse_json takes it, the next gene would not
        try:
            parse_json(text)
        except NotJSON as error:
            raise unreadable(self.name, error) from None
        return text
