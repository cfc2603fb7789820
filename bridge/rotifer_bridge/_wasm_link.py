"""A compiled module and the host functions it imports, tied together once for all its runs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from rotifer_bridge import _wasm_api as api
from rotifer_bridge._wasm_imports import HOST_FUNCTIONS
from rotifer_bridge._wasm_wasi import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rotifer_bridge._wasm_host import HostFunction
    from rotifer_bridge._wasm_run import Run

__all__ = ["Linked"]

_TICKS = 1  # beats until a module looks at the clock


class Linked:
    """A module that can be instantiated again and again, one run at a time.

    Args:
        module: its address, from `_wasm_api`; freed by ``close``.
        wanted: the modules and names of its imports, each in `HOST_FUNCTIONS`.
    """

    def __init__(self, module: int, wanted: Iterable[tuple[str, str]]) -> None:
        self.run: Run | None = None
        """The run that is going on, which the host functions work on."""
        self._module: int | None = module
        self._linker: int | None = None
        self._pre = c_void_p()
        self._at_beat = api.EpochFunction(self._look)
        # ctypes frees the code of a callback with its object.
        self._callbacks: list[Any] = []
        try:
            self._link(wanted)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free it; no run may be going on. May be repeated."""
        if self._pre.value:
            api.instance_pre_delete(self._pre)
            self._pre = c_void_p()
        if self._linker:
            api.linker_delete(self._linker)
            self._linker = None
        if self._module:
            api.module_delete(self._module)
            self._module = None

    @property
    def pre(self) -> c_void_p:
        """What `_wasm_api.instantiate` takes."""
        return self._pre

    def watch(self, store: int, context: int) -> None:
        """Have the store's code look at the clock at every beat."""
        api.store_epoch_callback(store, self._at_beat, None, None)
        api.set_epoch_deadline(context, _TICKS)

    def _link(self, wanted: Iterable[tuple[str, str]]) -> None:
        self._linker = api.linker_new(api.engine())
        for module, name in dict.fromkeys(wanted):
            function = HOST_FUNCTIONS[module, name]
            callback = api.HostFunction(self._entry(function))
            self._callbacks.append(callback)
            kind = api.function_type(function.parameters, function.result)
            module_name, function_name = module.encode(), name.encode()
            error = api.take_error(
                api.linker_define(
                    self._linker,
                    module_name,
                    len(module_name),
                    function_name,
                    len(function_name),
                    kind,
                    callback,
                    None,
                    None,
                )
            )
            api.functype_delete(kind)
            if error is not None:
                raise api.Refused(error)
        error = api.take_error(
            api.linker_instantiate_pre(self._linker, self._module, byref(self._pre))
        )
        if error is not None:
            raise api.Refused(error)

    def _entry(self, function: HostFunction) -> Callable[..., int | None]:
        """What the module's call arrives at; nothing is ever raised from here."""
        places = [index * api.SLOT for index in range(len(function.parameters))]
        call, result = function.call, function.result

        def enter(_data: int, caller: int, slots: Any, _count: int) -> int | None:
            run = self.run
            try:
                assert run is not None, "a module runs in a run"
                run.find_memory(caller)
                answer = call(run, *[slots[place] for place in places])
                if result:
                    slots[0] = answer & 0xFFFFFFFF
                    slots[1] = answer >> 32 & 0xFFFFFFFF
            except Exit:
                return _trap()
            except BaseException as error:  # noqa: BLE001 - for our caller, after the module
                if run is not None:
                    run.end_with(error)
                return _trap()
            return None

        return enter

    def _look(self, _context: int, _data: int, ticks: Any, _kind: Any) -> int | None:
        try:
            if self.run is None or self.run.over():
                return _error()
            ticks[0] = _TICKS
        except BaseException as error:  # noqa: BLE001 - as above
            if self.run is not None:
                self.run.end_with(error)
            return _error()
        return None


def _trap() -> int:
    trap: int = api.trap_new(b"stopped", 7)
    return trap


def _error() -> int:
    error: int = api.error_new(ctypes.c_char_p(b"stopped"))
    return error
