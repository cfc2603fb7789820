"""Modules that mean harm: each gets the right code or a clear failure, and nothing else is hurt."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.wasm.conftest import PAGE, V2, Call, calling, quoted, wasm

from rotifer_bridge._wasm_signals import SetAside
from rotifer_bridge.errors import GeneError, GeneFailed, RunError
from rotifer_engine import Caller

SIZE = 4 * PAGE
READ = {"key": "k"}


def entry(call, sandbox):
    """A memory with one entry; its length as an answer."""
    sandbox.memory.write(Caller(V2, "code"), "k", b"v", "CACHE")
    [(size, _)] = call(Call("read", READ))
    return size


@pytest.fixture(autouse=True)
def alive(sandbox):
    """After each of these tests another gene still runs, on a memory that works."""
    yield
    wat = calling([Call("write", {"key": "after", "value": "", "category": "CACHE"})])
    assert sandbox.run(wat) is True
    assert sandbox.memory.read(Caller(V2, "code"), "after").value == b""


# ---- pointers and lengths


@pytest.mark.parametrize("op", ["read", "write", "query", "delete"])
@pytest.mark.parametrize(
    ("at", "size"),
    [
        (SIZE, 1),
        (SIZE - 1, 2),
        (0, SIZE + 1),
        (SIZE + 1, 0),
        (2**31, 1),
        (2**31, 2**31),
        (2**32 - 1, 1),
        (2**32 - 1, 2**32 - 1),
        (1, 2**32 - 1),
        (0, 2**31),
        (2**32 - 16, 32),
    ],
)
def test_a_request_outside_the_memory(call, op, at, size):
    """It is bad input, also where the sum of the two would wrap round to a small number."""
    [(result, text)] = call(Call(op, at=at, size=size))

    assert (-10, True) == (result, "the request is" in text)


@pytest.mark.parametrize(("at", "size"), [(SIZE, 0), (SIZE - 1, 1), (0, 0)])
def test_a_request_at_the_very_end(call, at, size):
    """What is inside by a byte, or is empty at the end, is read."""
    [(result, _)] = call(Call("query", at=at, size=size))

    assert result == (2 if size == 0 else -10)  # empty: all entries; a NUL is not JSON


@pytest.mark.parametrize(
    ("out", "room"),
    [
        (SIZE, 1),
        (SIZE - 1, 2),
        (SIZE + 1, 0),
        (0, SIZE + 1),
        (2**31, 4_096),
        (2**32 - 1, 4_096),
        (2**32 - 1, 2**32 - 1),
        (0, 2**31),
        (0, 2**32 - 1),
        (2**32 - 4_096, 8_192),
    ],
)
def test_an_out_outside_the_memory(call, sandbox, out, room):
    """It is bad input before anything is done, and nothing is written anywhere."""
    made = Call("write", {"key": "k", "value": "", "category": "CACHE"}, room, out=out)

    [(result, text)] = call(made)
    assert (-10, "") == (result, text)
    assert sandbox.memory.read(Caller(V2, "code"), "k") is None


@pytest.mark.parametrize("out", [0, 1, SIZE - 1_000])
def test_an_out_at_the_edge(sandbox, out):
    """An answer may lie at the very start and at the very end of the memory."""
    sandbox.memory.write(Caller(V2, "code"), "k", b"v", "CACHE")
    wat = calling([Call("read", READ, 1_000, out=out)])

    with contextlib.suppress(GeneFailed):  # at the start it lies over the module's own answer
        sandbox.run(wat)
    assert 400 < int(sandbox.logged[0][1]) <= 1_000


def test_out_is_filled_to_its_last_byte(call, sandbox):
    """An answer of just outCap bytes fits; the byte behind it stays as it was."""
    size = entry(call, sandbox)

    [(result, text), (small, _)] = call(Call("read", READ, size), Call("read", READ, size - 1))
    assert (size, size, -1) == (result, len(text), small)


@pytest.mark.parametrize("shift", [-8, 0, 8])
def test_request_and_out_overlap(call, sandbox, shift):
    """The request is read before the answer is written."""
    entry(call, sandbox)
    text = json.dumps(READ, separators=(",", ":"))
    extra = f'(data (i32.const {3 * PAGE}) "{quoted(text.encode())}")'
    wat = calling(
        [Call("read", b"", at=3 * PAGE, size=len(text), out=3 * PAGE + shift)], extra=extra
    )

    assert sandbox.run(wat) is True
    assert int(sandbox.logged[-2][1]) > 100


def test_no_room_at_all(call, sandbox):
    """With outCap 0 every call is done, and its answer is kept; a refusal has its number alone."""
    entry(call, sandbox)

    results = call(Call("read", READ, 0), Call("query", b"", 0), Call("delete", {"key": "x"}, 0))
    assert [(-1, ""), (-1, ""), (-12, "")] == results


@pytest.mark.parametrize("filler", [b" ", b"[", b'"', b"1", b"\xff", b"\0"])
def test_a_request_of_five_mebibytes(sandbox, filler):
    """A request that is longer than any can be is refused by its length, unread."""
    size = 5 * 1024 * 1024
    wat = calling(
        [
            Call("read", at=0, size=size),
            Call("write", at=0, size=size),
            Call("query", at=0, size=size),
        ],
        pages=100,
    ).replace(
        '(func (export "express") (param i32 i32) (result i32)',
        f'(func (export "express") (param i32 i32) (result i32) '
        f"(memory.fill (i32.const {4 * PAGE}) (i32.const {filler[0]}) (i32.const {size - 4 * PAGE}))",
    )

    assert sandbox.run(wat) is True
    told = [sandbox.logged[i][1] for i in range(len(sandbox.logged))]
    assert told[::2] == ["-10"] * 3
    assert all("5,242,880 bytes; the limit is 4,194,304" in text for text in told[1::2])


def test_the_largest_value(sandbox):
    """A value of 1 MiB can be written and read; one byte more is bad input."""
    for size, number in ((1_048_576, None), (1_048_577, "-10")):
        request = {
            "key": "big",
            "category": "CACHE",
            "value": base64.b64encode(bytes(size)).decode(),
        }
        sandbox.logged.clear()
        # The request lies from 1,024 on, so out has to be behind it.
        made = Call("write", request, 2_000_000, out=40 * PAGE)
        sandbox.run(calling([made], pages=80, clean=False))
        assert number == sandbox.logged[0][1] or (
            number is None and int(sandbox.logged[0][1]) > size
        )


@pytest.mark.parametrize(
    "request_",
    [
        b"\xff\xfe\xfd",
        b'{"key":"\xc3"}',
        b'{"key":"\xed\xa0\x80"}',
        b'{"key":"a"}\0',
        b"NaN",
        b'{"key":' + b"9" * 5_000 + b"}",
        b'{"limit":1e999}',
        b"[" * 9_000 + b"]" * 9_000,
        b'{"a":' * 5_000,
    ],
    ids=range(9),
)
def test_what_is_not_json(call, request_):
    """Anything that is no JSON text of UTF-8 is bad input, however it is made."""
    for op in ("read", "query", "delete", "write"):
        [(result, _)] = call(Call(op, request_))
        assert -10 == result


# ---- the other pointers


HEAD = '(module (import "env" "log" (func $log (param i32 i32))) (import "rotifer" "log" (func $level (param i32 i32 i32))) (import "rotifer" "readContext" (func $context (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 1)'  # fmt: skip


def express(body, head='(module (memory (export "memory") 1)', more=""):
    """A module whose express is this."""
    return f'{head} {more} (func $express (export "express") (param $at i32) (param $size i32) (result i32) {body}))'


@pytest.mark.parametrize(("at", "size"), [(PAGE, 1), (2**31, 1), (2**32 - 1, 2), (0, 2**32 - 1)])
def test_log_outside_the_memory(sandbox, at, size):
    """Such a line is dropped; the call has no result that could say so."""
    body = f"(call $log (i32.const {at}) (i32.const {size})) (call $level (i32.const -1) (i32.const {at}) (i32.const {size})) (local.get $at)"

    assert {} == sandbox.run(express(body, HEAD))
    assert [] == sandbox.logged


def test_log_lines(sandbox):
    """Levels are words, lines are lines, and what is not UTF-8 is dropped."""
    body = "".join(
        f"(call $level (i32.const {n}) (i32.const 100) (i32.const 3))" for n in (0, 1, 2, 3, -1)
    )
    body += "(call $level (i32.const 1) (i32.const 200) (i32.const 2)) (i32.const 0)"
    more = '(data (i32.const 100) "a\\nb") (data (i32.const 200) "\\ff\\fe")'

    sandbox.run(express(body, HEAD, more))
    lines = [line for _, line in sandbox.logged]
    assert ["debug: a", "b", "a", "b", "warn: a", "b", "error: a", "b", "error: a", "b"] == lines


def test_a_flood_of_log_lines(sandbox):
    """What is printed is bounded; what is dropped is counted."""
    body = "(loop (call $log (i32.const 0) (i32.const 60000)) (local.set $size (i32.add (local.get $size) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $size) (i32.const 100)))) (i32.store8 (i32.const 0) (i32.const 55)) (i32.store8 (i32.const 1) (i32.const 0)) (i32.const 0)"
    more = f'(data (i32.const 0) "{"x" * 60_000}")'

    assert 7 == sandbox.run(express(body, HEAD, more), {"pad": "y" * 8})
    assert sum(len(line) for _, line in sandbox.logged[:-1]) <= 1_048_576
    assert "dropped" in sandbox.logged[-1][1]


def test_a_flood_of_empty_log_lines(sandbox):
    """As many are shown as the limit says; the rest is counted."""
    body = "(loop (call $log (i32.const 0) (i32.const 0)) (local.set $size (i32.add (local.get $size) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $size) (i32.const 30000)))) (i32.store8 (i32.const 0) (i32.const 55)) (i32.store8 (i32.const 1) (i32.const 0)) (i32.const 0)"

    assert 7 == sandbox.run(express(body, HEAD))
    lines = [line for _, line in sandbox.logged]
    assert [""] * 20_000 == lines[:-1]
    assert "printed 29,998 bytes; the first 20,000 are shown, 9,998 dropped" in lines[-1]


@pytest.mark.parametrize("letter", ["ü", "€", "😀"])
def test_a_log_line_longer_than_what_is_shown(sandbox, letter):
    """It is shown as far as that goes, up to a whole character; the rest is counted."""
    count = 1_200_000 // len(letter.encode())
    size = count * len(letter.encode())
    more = f'(data (i32.const 17) "a{letter * count}")'
    head = HEAD.replace('"memory") 1', '"memory") 20')

    sandbox.run(express(f"(call $log (i32.const 17) (i32.const {size + 1})) (i32.store8 (i32.const 8) (i32.const 55)) (i32.const 8)", head, more))  # fmt: skip
    *lines, last = [line for _, line in sandbox.logged]
    assert f"printed {size + 2:,} bytes" in last
    shown = "".join(lines)
    assert "a" + letter * (len(shown) - 1) == shown
    assert 1_000_000 < len(shown.encode()) <= 1_048_576


def test_a_log_line_that_is_bad_beyond_what_is_shown(sandbox):
    """A byte that is no UTF-8 drops a line of any length."""
    more = '(data (i32.const 100) "\\ff")'

    sandbox.run(express("(call $log (i32.const 0) (i32.const 1200000)) (i32.const 0)", HEAD.replace('"memory") 1', '"memory") 20'), more))  # fmt: skip
    assert [] == sandbox.logged


@pytest.mark.parametrize(
    ("key", "room", "expected"),
    [
        ("agent_id", 64, 9),
        ("agent_id", 8, -1),
        ("permissions", 64, 2),
        ("binding_extensions", 64, 2),
        ("trace_id", 64, 34),
        ("timestamp", 64, 13),
        ("other", 64, 0),
        ("", 64, 0),
    ],
)
def test_context(sandbox, key, room, expected):
    """A field's length, 0 for no such field, -1 for no room."""
    body = f"(i32.store8 (i32.const 300) (i32.add (i32.const 48) (i32.eq (i32.const {expected}) (call $context (i32.const 100) (i32.const {len(key)}) (i32.const 200) (i32.const {room}))))) (i32.const 300)"

    assert 1 == sandbox.run(express(body, HEAD, f'(data (i32.const 100) "{key}")'))


def test_the_time_stands_still(sandbox):
    """Whoever asks for the time, by whatever name and however late, is told the run's start."""
    head = HEAD.replace("(memory", '(import "rotifer" "logicalTimestamp" (func $now (result i64))) (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32))) (memory')  # fmt: skip
    late = "(call $log (i32.const 0) (i32.const 1))"
    body = f"""
    (local $told i64)
    (i64.store (i32.const 400) (call $now)) {late}
    (if (i64.ne (call $now) (i64.load (i32.const 400))) (then unreachable)) {late}
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 408)))
    (if (i64.ne (i64.div_u (i64.load (i32.const 408)) (i64.const 1000000)) (i64.load (i32.const 400)))
      (then unreachable)) {late}
    (local.set $size (i32.add (i32.const 200)
      (call $context (i32.const 100) (i32.const 9) (i32.const 200) (i32.const 64))))
    (local.set $at (i32.const 200))
    (loop $next
      (local.set $told (i64.add (i64.mul (local.get $told) (i64.const 10))
        (i64.sub (i64.load8_u (local.get $at)) (i64.const 48))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $size))))
    (if (i64.ne (local.get $told) (i64.load (i32.const 400))) (then unreachable))
    (i32.const 200)"""
    gene = sandbox.load(express(body, head, '(data (i32.const 100) "timestamp")'))

    def pass_time(*_):
        start = time.time_ns()
        while time.time_ns() < start + 2_000_000:
            pass

    gene.on_log = pass_time
    before = time.time_ns() // 1_000_000
    told = int(gene.run(b"{}", time_limit=20))
    assert before <= told <= time.time_ns() // 1_000_000 - 5


@pytest.mark.parametrize(
    "arguments",
    [(2**32 - 1, 8, 200, 64), (100, 2**32 - 1, 200, 64), (PAGE, 1, 200, 64), (100, 70_000, 0, 1)],
)
def test_context_outside_the_memory(sandbox, arguments):
    """A key that lies outside the memory is no field."""
    listed = " ".join(f"(i32.const {number})" for number in arguments)
    body = f"(i32.store8 (i32.const 300) (i32.add (i32.const 48) (i32.eqz (call $context {listed})))) (i32.const 300)"

    assert 1 == sandbox.run(express(body, HEAD, '(data (i32.const 100) "agent_id")'))


@pytest.mark.parametrize(
    ("out", "room"), [(PAGE, 64), (2**32 - 1, 64), (0, 2**32 - 1), (PAGE - 8, 64)]
)
def test_context_to_outside_the_memory(sandbox, out, room):
    """It does not fit there."""
    body = f"(i32.store8 (i32.const 300) (i32.add (i32.const 49) (call $context (i32.const 100) (i32.const 8) (i32.const {out}) (i32.const {room})))) (i32.const 300)"

    assert 0 == sandbox.run(express(body, HEAD, '(data (i32.const 100) "agent_id")'))


@pytest.mark.parametrize("pointer", [PAGE + 1, 2**31 - 1])
def test_an_answer_outside_the_memory(sandbox, pointer):
    """A pointer outside the memory is an error that says so."""
    with pytest.raises(GeneFailed, match=f"answered with the pointer {pointer:,}; its memory is 65,536 bytes"):  # fmt: skip
        sandbox.run(express(f"(i32.const {pointer})"))


@pytest.mark.parametrize("number", [-1, -10, -(2**31)])
def test_an_error_code(sandbox, number):
    """A negative result is an error code."""
    with pytest.raises(GeneFailed, match=f"gene returned error code: {number}$"):
        sandbox.run(express(f"(i32.const {number})"))


def test_an_answer_up_to_the_end_of_the_memory(sandbox):
    """Without a NUL the text goes to the end of the memory."""
    wat = express(f"(i32.const {PAGE - 3})", more=f'(data (i32.const {PAGE - 3}) "123")')

    assert 123 == sandbox.run(wat)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("nul", "line 1"),
        ("{}x", "line 1"),
        ("\\ff", "not UTF-8"),
        ("NaN", "NaN"),
    ],
)
def test_an_answer_that_is_not_json(sandbox, text, said):
    """Text that is not JSON is a failure that says so; the reference calls it null."""
    with pytest.raises(GeneFailed, match=f"answered what is not JSON: .*{said}"):
        sandbox.run(express("(i32.const 100)", more=f'(data (i32.const 100) "{text}")'))


@pytest.mark.parametrize("at", [PAGE, 2**31, 2**32 - 1])
def test_an_alloc_that_points_outside(sandbox, at):
    """The input is written nowhere else than inside the memory."""
    more = f'(func (export "alloc") (param i32) (result i32) (i32.const {at}))'

    with pytest.raises(GeneFailed, match=f"has no room at {at:,}, where alloc points to"):
        sandbox.run(express("unreachable", more=more))


def test_an_input_that_is_larger_than_the_memory(sandbox):
    """Without alloc the input has to fit; the way out is said."""
    with pytest.raises(GeneFailed, match="no room at 0, the start of its memory") as caught:
        sandbox.run(express("unreachable"), "x" * PAGE)
    assert "export alloc" in caught.value.help


# ---- without an end

GROW = """
  (loop $more (br_if $more (i32.ne (memory.grow (i32.const 15)) (i32.const -1))))
  (if (i32.ne (memory.size) (i32.const 256)) (then unreachable))
  (i32.const 100)"""


def test_growth_without_end(sandbox):
    """memory.grow answers -1 at the limit, and the gene goes on with what it has."""
    wat = express(GROW, more='(data (i32.const 100) "1")')

    assert 1 == sandbox.run(wat, memory_bytes=256 * PAGE)


def test_growth_to_the_real_limit(sandbox):
    """The limit of a run is 256 MiB; a gene that gives up there has met the memory limit."""
    body = "(loop (br_if 0 (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) (drop (memory.grow (i32.sub (i32.const 4096) (memory.size)))) unreachable"

    with pytest.raises(
        GeneFailed, match="memory limit: it gave up with all of its 268,435,456 bytes in use"
    ):
        sandbox.run(express(body))


def test_growth_by_doubling(sandbox):
    """A gene that gives up below the limit is told how large it was."""
    body = "(loop (br_if 0 (i32.ne (memory.grow (memory.size)) (i32.const -1)))) unreachable"

    with pytest.raises(GeneFailed, match="it gave up") as caught:
        sandbox.run(express(body), memory_bytes=100 * PAGE)
    assert "4,194,304 bytes, and memory.grow past 6,553,600 answers -1" in caught.value.help


def test_a_memory_that_is_too_large_from_the_start(sandbox):
    """It is refused before it is compiled."""
    wat = express("(i32.const 0)", '(module (memory (export "memory") 4097)')

    with pytest.raises(GeneError, match="memory limit: its module wants 268,500,992 bytes; the limit is 268,435,456"):  # fmt: skip
        sandbox.run(wat)


def test_recursion(sandbox):
    """A stack overflow is told as one."""
    with pytest.raises(GeneFailed, match="failed in 'express': stack overflow"):
        sandbox.run(express("(call $express (local.get $at) (local.get $size))"))


def test_recursion_through_the_host(sandbox):
    """Also where the stack is nearly used up when a host function is called."""
    more = "(func $deep (param i32) (call $log (i32.const 0) (i32.const 1)) (call $deep (i32.const 0)))"

    with pytest.raises(GeneFailed, match="stack overflow"):
        sandbox.run(express("(call $deep (i32.const 0)) (i32.const 0)", HEAD, more))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("(i32.load (i32.const -1))", "it reached outside its memory"),
        ("(i32.div_u (i32.const 1) (i32.const 0))", "it divided by zero"),
        ("(i32.trunc_f32_s (f32.const nan))", "it made an integer of a number that is none"),
        ("(i32.div_s (i32.const 0x80000000) (i32.const -1))", "an integer overflowed"),
        (
            "(call_indirect $t (type $v) (i32.const 0)) (i32.const 0)",
            "it called a null function pointer",
        ),
        ("(call_indirect $t (type $v) (i32.const 9)) (i32.const 0)", "it reached outside a table"),
        ("unreachable", "it gave up"),
    ],
)
def test_traps(sandbox, body, said):
    """Each trap is told in words, with the function it came from."""
    more = "(type $v (func)) (table $t 1 funcref)"

    with pytest.raises(GeneFailed, match=f"failed in 'express': {said}"):
        sandbox.run(express(body, more=more))


def test_tables_without_end(sandbox):
    """A table cannot grow without end either."""
    body = "(loop (br_if 0 (i32.ne (table.grow $t (ref.null func) (i32.const 65536)) (i32.const -1)))) (i32.store8 (i32.const 0) (i32.const 55)) (i32.store8 (i32.const 1) (i32.const 0)) (i32.const 0)"

    assert 7 == sandbox.run(express(body, more="(table $t 1 funcref)"))


def test_ten_thousand_calls(sandbox):
    """A run may make many memory calls."""
    head = '(module (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 1) (data (i32.const 100) "{\\22key\\22:\\22k\\22}")'
    body = """
    (local.set $size (i32.const 0))
    (loop
      (if (i32.ne (call $read (i32.const 100) (i32.const 11) (i32.const 200) (i32.const 64)) (i32.const 4)) (then unreachable))
      (local.set $size (i32.add (local.get $size) (i32.const 1)))
      (br_if 0 (i32.lt_u (local.get $size) (i32.const 10000))))
    (i32.store8 (i32.const 204) (i32.const 0))
    (i32.const 200)"""

    assert sandbox.run(express(body, head)) is None


# ---- before and beside a run


def test_a_start_function_that_calls_memory(sandbox):
    """The start function runs in the run: its calls are the gene's, and they are answered."""
    wat = calling([Call("read", READ)], extra="(func $s (drop (call $write (i32.const 2000) (i32.const 44) (i32.const 3000) (i32.const 2000)))) (start $s)")  # fmt: skip
    text = '{"key":"k","value":"dg==","category":"CACHE"}'
    wat = wat.replace("(i32.const 44)", f"(i32.const {len(text)})").replace(
        "(start $s)", f'(start $s) (data (i32.const 2000) "{quoted(text.encode())}")'
    )

    assert sandbox.run(wat) is True
    assert int(sandbox.logged[0][1]) > 300


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("(loop (br 0))", "fuel exhausted"),
        ("unreachable", "it gave up"),
        ("(call $s)", "stack overflow"),
    ],
)
def test_a_start_function_that_fails(sandbox, start, said):
    """What it uses is the run's, and how it fails is told."""
    wat = express("(i32.const 0)", more=f"(func $s {start}) (start $s)")

    with pytest.raises(GeneFailed, match=said):
        sandbox.run(wat, fuel=1_000_000)


def test_data_outside_the_memory(sandbox):
    """A module that cannot be instantiated fails in the run."""
    with pytest.raises(GeneFailed, match="it reached outside its memory"):
        sandbox.run(express("(i32.const 0)", more='(data (i32.const 65536) "x")'))


def test_two_threads_that_fail_at_the_same_moment(sandbox):
    """Each gets its own exception, and never the other's."""
    wat = calling([Call("query")])
    meet = threading.Barrier(2)
    mixed = []

    class Own(BaseException):
        pass

    class Raising:
        closed = False

        def __init__(self):
            self.error = Own(threading.get_ident())

        def perform(self, *_):
            meet.wait(10)
            raise self.error

    def play():
        door = Raising()
        gene = sandbox.load(wat, door=door)
        for _ in range(100):
            try:
                gene.run(b"{}", time_limit=20)
            except Own as caught:
                if caught is not door.error:
                    mixed.append(caught)
            else:
                mixed.append("nothing was raised")

    threads = [threading.Thread(target=play) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == mixed


def test_two_threads_that_trap(sandbox):
    """Two modules that trap in different ways at once each say their own."""
    found = {}

    def play(name, body, said):
        gene = sandbox.load(express(body), name=name)
        for _ in range(100):
            try:
                gene.run(b"{}", time_limit=20)
            except GeneFailed as error:
                if f"'{name}' failed" not in error.message or said not in error.message:
                    found[name] = error.message

    threads = [
        threading.Thread(target=play, args=case)
        for case in (
            ("one", "unreachable", "it gave up"),
            ("two", "(i32.div_u (i32.const 1) (i32.const 0))", "divided by zero"),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {} == found


def test_two_genes_are_truly_parallel(sandbox):
    """Two genes that each wait for the other to have begun both end."""
    meet = threading.Barrier(2)
    answers = []

    class Meeting:
        closed = False

        def perform(self, *_):
            meet.wait(20)

    def play():
        answers.append(sandbox.run(calling([Call("query")]), door=Meeting()))

    threads = [threading.Thread(target=play) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [True, True] == answers


def test_an_on_log_that_raises(sandbox):
    """What our own caller raises in on_log comes out of the run as it was."""
    gene = sandbox.load(express("(call $log (i32.const 0) (i32.const 1)) (i32.const 0)", HEAD))

    def refuse(*_):
        raise BrokenPipeError("gone")

    gene.on_log = refuse
    with pytest.raises(BrokenPipeError, match="gone"):
        gene.run(b"{}", time_limit=5)


def test_closed_during_a_run(sandbox):
    """A run that is going on ends with an error, and the gene runs no more."""
    begun = threading.Event()
    gene = sandbox.load(express("(call $log (i32.const 0) (i32.const 1)) (loop (br 0)) (i32.const 0)", HEAD), fuel=10**15)  # fmt: skip
    gene.on_log = lambda *_: begun.set()
    caught = []

    def play():
        try:
            gene.run(b"{}", time_limit=60)
        except RunError as error:
            caught.append(error.message)

    thread = threading.Thread(target=play)
    thread.start()
    begun.wait(20)
    gene.close()
    thread.join(20)

    assert ["gene 'g' was stopped before it answered"] == caught
    with pytest.raises(RunError, match="is closed"):
        gene.run(b"{}", time_limit=5)


def test_closed_by_its_own_log(sandbox):
    """A caller that closes the gene from on_log does not wait for itself."""
    gene = sandbox.load(express("(call $log (i32.const 0) (i32.const 1)) (loop (br 0)) (i32.const 0)", HEAD), fuel=10**15)  # fmt: skip
    gene.on_log = lambda *_: gene.close()

    with pytest.raises(RunError, match="was stopped"):
        gene.run(b"{}", time_limit=20)


LOG = "(call $log (i32.const 0) (i32.const 1))"


@pytest.mark.parametrize("body", [f"{LOG} (loop (br 0)) (i32.const 0)", f"(loop {LOG} (br 0)) (i32.const 0)"])  # fmt: skip
def test_interrupted(sandbox, body):
    """Ctrl-C ends a run at once, whether it computes or calls; it is not lost."""
    gene = sandbox.load(express(body, HEAD), fuel=10**15)
    begun = threading.Event()
    gene.on_log = lambda *_: begun.set()
    thread = threading.Thread(target=lambda: begun.wait(30) and os.kill(os.getpid(), signal.SIGINT))
    thread.start()

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        gene.run(b"{}", time_limit=60)
    assert time.monotonic() - started < 30
    thread.join()


def test_interrupted_on_the_way_out():
    """Where putting handlers back was interrupted, the one that is left raises as it ever did."""
    told = []

    def stop(*_):
        raise ZeroDivisionError

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with SetAside(told.append):
            wrapper = signal.getsignal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
        assert [ZeroDivisionError] == [type(error) for error in told]
        assert stop is signal.getsignal(signal.SIGUSR1)

        signal.signal(signal.SIGUSR1, wrapper)
        with pytest.raises(ZeroDivisionError):
            signal.raise_signal(signal.SIGUSR1)
        assert 1 == len(told)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_does_no_harm(sandbox):
    """A handler that raises nothing is called during the run, which goes on."""
    seen = []

    class GoesOn(Exception):
        pass

    def look(*_):
        begun.set()
        thread.join(0.01)
        if seen:
            raise GoesOn

    begun = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append("usr1"))
    thread = threading.Thread(target=lambda: begun.wait(30) and os.kill(os.getpid(), signal.SIGUSR1))  # fmt: skip
    try:
        gene = sandbox.load(express(f"(loop {LOG} (br 0)) (i32.const 0)", HEAD), fuel=10**15)
        gene.on_log = look
        thread.start()
        with pytest.raises(GoesOn):
            gene.run(b"{}", time_limit=60)
        assert ["usr1"] == seen
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_full_process_lives_through_all_kinds_of_failure(tmp_path):
    """A process that met traps, a stack overflow and a time limit ends as any other: exit code 0."""
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.wasm.conftest import Sandbox
from tests.wasm.test_hostile_modules import express
from rotifer_bridge.errors import RunError
import pathlib
sandbox = Sandbox(pathlib.Path(sys.argv[2]))
for body in ("unreachable", "(call $express (i32.const 0) (i32.const 0))", "(loop (br 0)) (i32.const 0)", "(i32.load (i32.const -1))"):
    try:
        sandbox.run(express(body), time_limit=0.2, fuel=10**15)
    except RunError as error:
        print(type(error).__name__)
sandbox.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, os.getcwd(), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert ["GeneFailed", "GeneFailed", "RunTimedOut", "GeneFailed"] == done.stdout.split()


# ---- modules that are refused


@pytest.mark.parametrize(
    ("wat", "said"),
    [
        ('(module (memory (export "memory") 1))', "exports neither express nor _start"),
        ('(module (func (export "express") (param i32 i32) (result i32) (i32.const 0)))', "exports no memory"),
        (express("(i32.const 0)", '(module (func (export "memory"))'), "its export memory is a function, no memory"),
        ('(module (memory (export "memory") 1) (memory 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0)))', "cannot be used"),
        ('(module (memory (export "memory") 1) (global (export "express") i32 (i32.const 0)))', "its export express is a global, no function"),
        ('(module (memory (export "memory") 1) (func (export "express") (param i64 i32) (result i32) (i32.const 0)))', r"its export express is \(i64, i32\) -> i32; it must be \(i32, i32\) -> i32"),
        ('(module (memory (export "memory") 1) (func (export "express")))', r"its export express is \(\) -> \(\)"),
        ('(module (memory (export "memory") 1) (func (export "_start") (param i32)))', r"its export _start is \(i32\) -> \(\); it must be"),
        (express("(i32.const 0)", more='(func (export "alloc") (param i64) (result i32) (i32.const 0))'), r"its export alloc is \(i64\) -> i32"),
        (express("(i32.const 0)", '(module (import "rotifer" "network" (func)) (memory (export "memory") 1)'), "imports rotifer.network, which is not there"),
        (express("(i32.const 0)", '(module (import "env" "abort" (func (param i32 i32 i32 i32))) (memory (export "memory") 1)'), "imports env.abort, which is not there"),
        (express("(i32.const 0)", '(module (import "env" "memory" (memory 1)) (export "memory" (memory 0))'), "imports env.memory, which is not there"),
        (express("(i32.const 0)", '(module (import "env" "log" (global i32)) (memory (export "memory") 1)'), "imports env.log as a global; it is a function"),
        (express("(i32.const 0)", '(module (import "env" "log" (func (param i64))) (memory (export "memory") 1)'), r"imports env.log as \(i64\) -> \(\); it is \(i32, i32\) -> \(\)"),
        (express("(i32.const 0)", '(module (import "rotifer" "a\\00\\1b[2J" (func)) (memory (export "memory") 1)'), r"imports rotifer.a\\x00\\x1b\[2J, which"),
        (express("(i32.const 0)", more='(data (i32.const 0) "async function express(")'), "its module holds 'async function express'"),
        (express("(i32.const 0)", more='(data (i32.const 0) "express = async")'), "its module holds 'express = async'"),
    ],
)  # fmt: skip
def test_refused(sandbox, wat, said):
    """What cannot be run is refused when it is loaded, and what is missing is named."""
    with pytest.raises(GeneError, match=said):
        sandbox.load(wat)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "this is no WASM module: it does not start with"),
        (b"\0asm\x02\0\0\0", "does not start with"),
        (b"\0asm\x0d\0\x01\0", "does not start with"),
        (b"export function express() {}", "does not start with"),
        (b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\x0f", "longer than the file"),
        (b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\xff\xff", "a number at byte"),
        (b"\0asm\x01\0\0\0\x01", "it ends too early"),
        (b"\0asm\x01\0\0\0\x01\x05\xff\xff\xff\xff\x0f", "a list of 4,294,967,295 items"),
    ],
)
def test_no_module(sandbox, data, said):
    """Bytes that are no module are refused with the reason."""
    with pytest.raises(GeneError, match=said):
        sandbox.load(data)


def test_cut_and_changed_modules(sandbox):
    """A module that was cut anywhere, or has another byte anywhere, is refused, fails, or runs."""
    whole = wasm(calling([Call("query")]))
    cut = [whole[:end] for end in range(0, len(whole), 17)]
    changed = [
        whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]
        for at in range(8, len(whole), 11)
        for flip in (0x01, 0x80, 0xFF)
    ]
    refused = 0
    for data in cut + changed:
        try:
            gene = sandbox.load(data, fuel=1_000_000)
        except GeneError:
            refused += 1
            continue
        try:
            gene.run(b"{}", time_limit=2)
        except RunError:
            pass
        finally:
            gene.close()
    assert refused >= len(cut)
