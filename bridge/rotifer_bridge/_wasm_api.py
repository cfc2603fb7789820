"""wasmtime's C API, as far as genes need it.

wasmtime-py calls the same functions, but its wrappers cost some 20 µs a call, and it keeps the last
exception of a host function in one place for the whole process, so that two threads can get each
other's (wasm-genes §3).

Everything here trusts its arguments: a pointer that was freed, or a length past the end, ends the
process. Who calls it checks first.
"""

from __future__ import annotations

import ctypes
import resource
import threading
from ctypes import byref, c_bool, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from rotifer_bridge._wasm_library import load
from rotifer_bridge._wasm_limits import MEMORY_BYTES, TABLE_ELEMENTS, TABLES

_MAX_STACK = 512 * 1024  # a thread's stack is 8 MiB; host functions need the rest
_SLOTS = 256  # runs at once [ours]

ENGINE_CONFIG: tuple[tuple[str, int], ...] = (
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

_POOL = (
    ("total_core_instances", _SLOTS),
    ("total_memories", _SLOTS),
    ("total_tables", _SLOTS * 2),
    ("total_stacks", 0),
    ("max_tables_per_module", TABLES),
    ("table_elements", TABLE_ELEMENTS),
    ("max_memory_size", MEMORY_BYTES),
    # What a small gene touches is wiped and not given back: half of a short run was that.
    ("linear_memory_keep_resident", 128 * 1024),
    ("table_keep_resident", 4_096),
)
"""Instances are made in places that are there already."""

_library = load()
_layout = _library.layout


class Refused(Exception):
    """wasmtime refused a module; the text is its own, for a person."""


class _Shared:
    """The one engine of this process: code that it compiled runs under it alone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.engine = 0


_shared = _Shared()


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = _library.dll[name]  # an object of our own: wasmtime-py's keeps its prototype
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
_func_call = _declare("wasmtime_func_call", _P, _P, _P, _P, c_size_t, _P, c_size_t, _P)
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
_config_new = _declare("wasm_config_new", _P)
_engine_new = _declare("wasm_engine_new_with_config", _P, _P)
_engine_delete = _declare("wasm_engine_delete", None, _P)
_valtype_new = _declare("wasm_valtype_new", _P, c_uint8)
_valtype_vec_new = _declare("wasm_valtype_vec_new", None, _P, c_size_t, _P)
_functype_new = _declare("wasm_functype_new", _P, _P, _P)
functype_delete = _declare("wasm_functype_delete", None, _P)
_increment = _declare("wasmtime_engine_increment_epoch", None, _P)
_validate = _declare("wasmtime_module_validate", _P, _P, _P, c_size_t)

HostFunction = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, ctypes.POINTER(c_uint32), c_size_t)
"""``(data, caller, slots, count) -> trap``: what a module calls; `SLOT` 32-bit words a slot."""
SLOT = _layout.raw // 4

EpochFunction = ctypes.CFUNCTYPE(
    c_void_p, c_void_p, c_void_p, ctypes.POINTER(c_uint64), ctypes.POINTER(c_uint8)
)
"""``(context, data, ticks, kind) -> error``: called at an epoch deadline; leaves ``kind`` alone."""


class _Vec(ctypes.Structure):
    """``wasm_byte_vec_t``, and every other vector of that API."""

    _fields_ = (("size", c_size_t), ("data", c_void_p))


def engine() -> int:
    """The engine's address; it is made by whoever comes first."""
    if not _shared.engine:
        with _shared.lock:
            if not _shared.engine:
                config = _config()
                _use_pool(config)
                _shared.engine = _engine_new(config)
    return _shared.engine


def _config(**changes: bool) -> int:
    config: int = _config_new()
    for name, value in {**dict(ENGINE_CONFIG), **changes}.items():
        kind = c_bool if isinstance(value, bool) else c_size_t
        _declare(f"wasmtime_config_{name}_set", None, _P, kind)(config, value)
    return config


def _use_pool(config: int) -> None:
    """Have instances made in a pool, where there are addresses enough to set one aside.

    It takes 4 GiB of addresses a slot, of which next to none become memory. A process whose
    addresses are limited (``ulimit -v``, ``ulimit -d``) goes without: there wasmtime would end it.
    """
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY:
            return
    pool = _declare("wasmtime_pooling_allocation_config_new", _P)()
    for name, value in _POOL:
        kind = c_uint32 if name.startswith(("total", "max_tables")) else c_size_t
        _declare(f"wasmtime_pooling_allocation_config_{name}_set", None, _P, kind)(pool, value)
    _declare("wasmtime_pooling_allocation_strategy_set", None, _P, _P)(config, pool)
    _declare("wasmtime_pooling_allocation_config_delete", None, _P)(pool)


def invalid(wasm: bytes, **features: bool) -> str | None:
    """Why a module is not valid for an engine that differs from ours in these features."""
    made = _engine_new(_config(**features))
    try:
        return take_error(_validate(made, wasm, len(wasm)))
    finally:
        _engine_delete(made)


def increment_epoch() -> None:
    """Let the modules that run look at the clock."""
    if _shared.engine:
        _increment(_shared.engine)


def version() -> str:
    """Which wasmtime this is."""
    return _library.version


FUNCTION, MEMORY = 0, 3
"""Kinds of what is exported."""


class Extern:
    """Room for something that was exported."""

    __slots__ = ("_room", "address")

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(_layout.extern)
        self.address = ctypes.addressof(self._room)

    def of(self, kind: int) -> int:
        """The address of the function, or of the memory, that it is.

        Raises:
            RuntimeError: it is something else, whatever was read in the module before.
        """
        found = self._room[0][0]
        if found != kind:
            raise RuntimeError(f"an export is of kind {found}, and was taken for {kind}")
        return self.address + _layout.of


def instance_room() -> Any:
    """Room for an instance."""
    return ctypes.create_string_buffer(_layout.instance)


_WORDS = _layout.value // 4  # of a value; its kind is in the first, and i32 has the number 0
_I32_AT = _layout.of // 4


def call(
    context: int, function: int, arguments: tuple[int, ...], results: int, trap: c_void_p
) -> tuple[int | None, int]:
    """Call a function of i32 arguments and at most one i32 result.

    wasmtime holds the arguments against the function's type.

    Args:
        context: the store's.
        function: the address of its handle.
        arguments: unsigned numbers.
        results: how many it gives.
        trap: where a trap is put.

    Returns:
        An error or none; the result as an unsigned number.
    """
    values = (c_uint32 * (_WORDS * (len(arguments) + 1)))()
    at = _I32_AT
    for argument in arguments:
        values[at] = argument
        at += _WORDS
    last = ctypes.addressof(values) + len(arguments) * _layout.value
    error = _func_call(context, function, values, len(arguments), last, results, byref(trap))
    return error, values[at] if results else 0


def take_error(error: int | None) -> str | None:
    """The text of an error, which is freed; None for none."""
    if not error:
        return None
    text = _Vec()
    _error_message(error, byref(text))
    _error_delete(error)
    said = ctypes.string_at(text.data, text.size).decode("utf-8", "replace")
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
            vec = _Vec.from_address(name)
            where = ctypes.string_at(vec.data, vec.size).decode("utf-8", "replace")
        _frame_delete(frame)
    _trap_delete(trap)
    return (_code_name(code.value) if known else None), where


def _code_name(code: int) -> str | None:
    from wasmtime import TrapCode

    try:
        return TrapCode(code).name
    except ValueError:
        return None  # newer than what wasmtime-py knows


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
    vec = _Vec()
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


def function_type(parameters: str, results: str) -> int:
    """A type from letters: ``i`` for i32, ``I`` for i64; who asks frees it."""
    kinds = {"i": 0, "I": 1}
    sides = []
    for letters in (parameters, results):
        types = (c_void_p * len(letters))(*[_valtype_new(kinds[letter]) for letter in letters])
        side = _Vec()
        _valtype_vec_new(byref(side), len(letters), types)
        sides.append(side)
    made: int = _functype_new(byref(sides[0]), byref(sides[1]))
    return made
