"""wasmtime's C API, as far as genes need it.

wasmtime-py calls the same functions, but its wrappers cost some 40 µs a call, and it keeps the last
exception of a host function in one place for the whole process, so that two threads can get each
other's (wasm-genes §3). The layouts of the structs are wasmtime-py's own, so they are those of the
library beside it.

Everything here trusts its arguments: a pointer that was freed, or a length past the end, ends the
process. Who calls it checks first.
"""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import byref, c_bool, c_int64, c_size_t, c_uint8, c_uint64, c_void_p
from typing import Any

import wasmtime
from wasmtime import _ffi as ffi

_MAX_STACK = 512 * 1024  # a thread's stack is 8 MiB; host functions need the rest

ENGINE_CONFIG = (
    # One memory of 32-bit addresses, or the limit of §4 would hold for each of many; no feature
    # that keeps values where that limit does not reach.
    ("wasm_threads", False),
    ("wasm_multi_memory", False),
    ("wasm_memory64", False),
    ("gc_support", False),
    ("wasm_gc", False),
    ("wasm_function_references", False),
    ("wasm_exceptions", False),
    ("max_wasm_stack", _MAX_STACK),
    ("consume_fuel", True),
    ("epoch_interruption", True),
)
"""How modules are compiled; part of the cache's key."""

Extern = ffi.wasmtime_extern_t
InstanceHandle = ffi.wasmtime_instance_t
MemoryHandle = ffi.wasmtime_memory_t
Value = ffi.wasmtime_val_t


class Refused(Exception):
    """wasmtime refused a module; the text is its own, for a person."""


class _Shared:
    """The one engine of this process: code that it compiled runs under it alone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.engine: wasmtime.Engine | None = None


_shared = _Shared()


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = ffi.dll[name]  # an object of our own: wasmtime-py's keeps its prototype
    function.restype = result
    function.argtypes = arguments
    return function


_P = c_void_p
module_new = _declare("wasmtime_module_new", _P, _P, _P, c_size_t, _P)
module_deserialize = _declare("wasmtime_module_deserialize", _P, _P, _P, c_size_t, _P)
module_serialize = _declare("wasmtime_module_serialize", _P, _P, _P)
module_delete = _declare("wasmtime_module_delete", None, _P)
linker_new = _declare("wasmtime_linker_new", _P, _P)
linker_delete = _declare("wasmtime_linker_delete", None, _P)
linker_define = _declare(
    "wasmtime_linker_define_func_unchecked", _P, _P, _P, c_size_t, _P, c_size_t, _P, _P, _P, _P
)
linker_instantiate_pre = _declare("wasmtime_linker_instantiate_pre", _P, _P, _P, _P)
instance_pre_delete = _declare("wasmtime_instance_pre_delete", None, _P)
instantiate = _declare("wasmtime_instance_pre_instantiate", _P, _P, _P, _P, _P)
instance_export = _declare("wasmtime_instance_export_get", c_bool, _P, _P, _P, c_size_t, _P)
store_new = _declare("wasmtime_store_new", _P, _P, _P, _P)
store_delete = _declare("wasmtime_store_delete", None, _P)
store_context = _declare("wasmtime_store_context", _P, _P)
store_limiter = _declare("wasmtime_store_limiter", None, _P, *[c_int64] * 5)
store_epoch_callback = _declare("wasmtime_store_epoch_deadline_callback", None, _P, _P, _P, _P)
set_epoch_deadline = _declare("wasmtime_context_set_epoch_deadline", None, _P, c_uint64)
set_fuel = _declare("wasmtime_context_set_fuel", _P, _P, c_uint64)
get_fuel = _declare("wasmtime_context_get_fuel", _P, _P, _P)
func_call = _declare("wasmtime_func_call", _P, _P, _P, _P, c_size_t, _P, c_size_t, _P)
memory_data = _declare("wasmtime_memory_data", c_size_t, _P, _P)
memory_size = _declare("wasmtime_memory_data_size", c_size_t, _P, _P)
caller_context = _declare("wasmtime_caller_context", _P, _P)
caller_export = _declare("wasmtime_caller_export_get", c_bool, _P, _P, c_size_t, _P)
error_new = _declare("wasmtime_error_new", _P, _P)
_error_message = _declare("wasmtime_error_message", None, _P, _P)
_error_delete = _declare("wasmtime_error_delete", None, _P)
trap_new = _declare("wasmtime_trap_new", _P, _P, c_size_t)
_trap_code = _declare("wasmtime_trap_code", c_bool, _P, _P)
_trap_delete = _declare("wasm_trap_delete", None, _P)
_trap_origin = _declare("wasm_trap_origin", _P, _P)
_frame_delete = _declare("wasm_frame_delete", None, _P)
_frame_name = _declare("wasmtime_frame_func_name", _P, _P)
_vec_delete = _declare("wasm_byte_vec_delete", None, _P)
_increment = _declare("wasmtime_engine_increment_epoch", None, _P)
_validate = _declare("wasmtime_module_validate", _P, _P, _P, c_size_t)

HostFunction = ctypes.CFUNCTYPE(
    c_void_p, c_void_p, c_void_p, ctypes.POINTER(ctypes.c_uint32), c_size_t
)
"""``(data, caller, slots, count) -> trap``: what a module calls; `SLOT` 32-bit words a slot."""
SLOT = ctypes.sizeof(ffi.wasmtime_val_raw_t) // 4

EpochFunction = ctypes.CFUNCTYPE(
    c_void_p, c_void_p, c_void_p, ctypes.POINTER(c_uint64), ctypes.POINTER(c_uint8)
)
"""``(context, data, ticks, kind) -> error``: called at an epoch deadline; leaves ``kind`` alone."""


def engine() -> int:
    """The engine's address; it is made by whoever comes first."""
    made = _shared.engine
    if made is None:
        with _shared.lock:
            made = _shared.engine
            if made is None:
                made = _shared.engine = wasmtime.Engine(_config())
    return address(made.ptr())


def _config(**changes: object) -> wasmtime.Config:
    config = wasmtime.Config()
    for name, value in {**dict(ENGINE_CONFIG), **changes}.items():
        setattr(config, name, value)
    return config


def invalid(wasm: bytes, **features: bool) -> str | None:
    """Why a module is not valid for an engine that differs from ours in these features."""
    made = wasmtime.Engine(_config(**features))
    try:
        return take_error(_validate(address(made.ptr()), wasm, len(wasm)))
    finally:
        made.close()


def increment_epoch() -> None:
    """Let the modules that run look at the clock."""
    made = _shared.engine
    if made is not None:
        _increment(address(made.ptr()))


def version() -> str:
    """Which wasmtime this is."""
    # importlib.metadata would take longer than the rest of a cold start (design §5a).
    package = os.path.dirname(os.path.abspath(wasmtime.__file__))
    for name in os.listdir(os.path.dirname(package)):
        if name.startswith("wasmtime-") and name.endswith(".dist-info"):
            return name[len("wasmtime-") : -len(".dist-info")]
    return "unknown"  # wasmtime itself refuses what another version compiled


def address(pointer: Any) -> int:
    """The address that a pointer of wasmtime-py holds."""
    return ctypes.cast(pointer, c_void_p).value or 0


def take_error(error: int | None) -> str | None:
    """The text of an error, which is freed; None for none."""
    if not error:
        return None
    text = ffi.wasm_byte_vec_t()
    _error_message(error, byref(text))
    _error_delete(error)
    said = ffi.to_str(text)
    _vec_delete(byref(text))
    return said


def drop_error(error: int) -> None:
    """Free an error that nobody reads."""
    _error_delete(error)


def take_trap(trap: c_void_p) -> tuple[str | None, str | None]:
    """The name of a trap's code, and that of the function it came from; the trap is freed."""
    code = c_uint8()
    known = _trap_code(trap, byref(code))
    where = None
    frame = _trap_origin(trap)
    if frame:
        name = _frame_name(frame)
        if name:
            vec = ffi.wasm_byte_vec_t.from_address(name)
            where = ctypes.string_at(vec.data, vec.size).decode("utf-8", "replace")
        _frame_delete(frame)
    _trap_delete(trap)
    return (wasmtime.TrapCode(code.value).name if known else None), where


def compile_module(wasm: bytes) -> int:
    """Compile a module; who asks frees it.

    Raises:
        Refused: it is no valid module, or asks for what we turned off.
    """
    module = c_void_p()
    error = take_error(module_new(engine(), wasm, len(wasm), byref(module)))
    if error is not None or module.value is None:
        raise Refused(error)
    return module.value


def serialize(module: int) -> bytes:
    """The machine code of a compiled module, as `deserialize` takes it."""
    vec = ffi.wasm_byte_vec_t()
    error = take_error(module_serialize(module, byref(vec)))
    if error is not None:
        raise Refused(error)
    try:
        return ctypes.string_at(vec.data, vec.size)
    finally:
        _vec_delete(byref(vec))


def deserialize(data: bytes) -> int | None:
    """The module of this machine code, which is believed: it must be ours, unchanged.

    Returns:
        None for code of another version, machine or configuration.
    """
    module = c_void_p()
    error = module_deserialize(engine(), data, len(data), byref(module))
    if error:
        drop_error(error)
        return None
    return module.value


def function_type(parameters: str, results: str) -> wasmtime.FuncType:
    """A type from letters: ``i`` for i32, ``I`` for i64."""
    kinds = {"i": wasmtime.ValType.i32, "I": wasmtime.ValType.i64}
    return wasmtime.FuncType([kinds[p]() for p in parameters], [kinds[r]() for r in results])
