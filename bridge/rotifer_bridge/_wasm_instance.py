"""An instance of a module: made for one run, called, and left for a reason that is told."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, NoReturn

from rotifer_bridge import _wasm_api as api
from rotifer_bridge._wasm_limits import timed_out, trapped
from rotifer_bridge._wasm_wasi import Exited
from rotifer_bridge.errors import GeneFailed, RunError

if TYPE_CHECKING:
    from rotifer_bridge._wasm_run import Run

__all__ = ["Instance", "why_over"]


def why_over(run: Run) -> BaseException:
    """The error for a run that we ended."""
    if run.stop is not None:
        return run.stop
    if run.expired:
        return timed_out(run.gene, run.time_limit)
    return RunError(f"gene '{run.gene}' was stopped before it answered", code="E0052")


class Instance:
    """The instance of one run; making it runs the module's start function.

    Args:
        pre: the linked module (`Linked.pre`).
        run: its run.

    Raises:
        GeneFailed: it trapped, or cannot be instantiated.
        RunTimedOut: its time was used up.
        RunError: it was stopped.
    """

    def __init__(self, pre: c_void_p, run: Run) -> None:
        self.run = run
        self._instance = api.instance_room()
        self._trap = c_void_p()
        self._check(api.instantiate(pre, run.context, self._instance, byref(self._trap)))
        run.take_memory(self._export(b"memory"))

    def call(self, name: bytes, *arguments: int, results: int = 1) -> int:
        """Call an export that takes i32 arguments.

        Args:
            name: of an export whose type was checked.
            arguments: unsigned numbers.
            results: how many i32 it gives, none or one.

        Returns:
            The result as an unsigned number; 0 for none.

        Raises:
            RunError: as the class says.
        """
        function = self._export(name)
        error, answer = api.call(
            self.run.context, function.of(api.FUNCTION), arguments, results, self._trap
        )
        self._check(error)
        return answer

    def _export(self, name: bytes) -> api.Extern:
        item = api.Extern()
        found = api.instance_export(self.run.context, self._instance, name, len(name), item.address)
        assert found, "it was there when the module was checked"
        return item

    def _check(self, error: int | None) -> None:
        if error or self._trap.value:
            self._failed(error)

    def _failed(self, error: int | None) -> NoReturn:
        """Say why the module was left before its end."""
        run = self.run
        said = api.take_error(error)
        name = where = None
        if self._trap.value:
            name, where = api.take_trap(self._trap)
            self._trap = c_void_p()
        if run.exit_code is not None:
            raise Exited(run.gene, run.exit_code)
        if run.stop is not None or run.expired or run.cancelled:
            raise why_over(run)
        if said is None:
            raise trapped(run.gene, name, where, limits=run.limits, memory=run.size())
        raise GeneFailed(f"gene '{run.gene}' could not be started: {said}", code="E0052")
