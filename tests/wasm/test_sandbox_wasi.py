"""A module in WASI mode: standard streams, and the few functions there are (wasm-genes §1)."""

from __future__ import annotations

import pytest

from rotifer_bridge.errors import GeneError, GeneFailed

WASI = "wasi_snapshot_preview1"


def program(body, more="", memory=1):
    """A module in WASI mode. At 0 stands a list of one buffer: 4,096 bytes at 4,096."""
    return f"""
(module
  (import "{WASI}" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "{WASI}" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "{WASI}" "fd_close" (func $close (param i32) (result i32)))
  (import "{WASI}" "fd_fdstat_get" (func $stat (param i32 i32) (result i32)))
  (import "{WASI}" "fd_seek" (func $seek (param i32 i64 i32 i32) (result i32)))
  (import "{WASI}" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "{WASI}" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "{WASI}" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "{WASI}" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") {memory})
  (data (i32.const 0) "\\00\\10\\00\\00\\00\\10\\00\\00")
  (data (i32.const 256) " [0,0]\\0a")
  {more}
  (func $say (param $fd i32) (param $at i32) (param $size i32)
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $size))
    (if (call $write (local.get $fd) (i32.const 16) (i32.const 1) (i32.const 24))
      (then unreachable)))
  (func $digit (param $at i32) (param $n i32)
    (i32.store8 (local.get $at) (i32.add (i32.const 48) (local.get $n))))
  (func (export "_start") {body}))
"""


ECHO = program("""
  (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 12)))
  (call $say (i32.const 1) (i32.const 4096) (i32.load (i32.const 12)))
""")


def text(body):
    """The two digits of $n as the answer."""
    return program(
        f"""(local $n i32)
        {body}
        (call $digit (i32.const 300) (i32.div_u (local.get $n) (i32.const 10)))
        (call $digit (i32.const 301) (i32.rem_u (local.get $n) (i32.const 10)))
        (i32.store8 (i32.const 299) (i32.const 34))
        (i32.store8 (i32.const 302) (i32.const 34))
        (call $say (i32.const 1) (i32.const 299) (i32.const 4))"""
    )


def test_standard_streams(sandbox):
    """The input comes on standard input, and what is written on standard output is the answer."""
    assert {"a": "ü"} == sandbox.run(ECHO, {"a": "ü"})


def test_white_space_around_the_document(sandbox):
    """White space around the answer is fine."""
    wat = program("(call $say (i32.const 1) (i32.const 256) (i32.const 7))")

    assert [0, 0] == sandbox.run(wat)


def test_wasi_wins_beside_express(sandbox):
    """A module with both entry points runs _start."""
    both = ECHO.rstrip().removesuffix(")") + '(func (export "express") unreachable))'

    assert 1 == sandbox.run(both, 1)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("(call $read (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12))", 8),
        ("(call $read (i32.const 0) (i32.const -1) (i32.const 1) (i32.const 12))", 21),
        ("(call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 65533))", 21),
        ("(call $read (i32.const 0) (i32.const 0) (i32.const 1025) (i32.const 12))", 28),
        ("(call $write (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 12))", 8),
        ("(call $write (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 12))", 8),
        ("(call $write (i32.const 1) (i32.const 65533) (i32.const 1) (i32.const 12))", 21),
        ("(call $write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 12))", 28),
        ("(call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const -4))", 21),
        ("(call $write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 12))", 0),
        ("(call $close (i32.const 2))", 0),
        ("(call $close (i32.const 3))", 8),
        ("(call $stat (i32.const 1) (i32.const 512))", 0),
        ("(call $stat (i32.const 3) (i32.const 512))", 8),
        ("(call $stat (i32.const 1) (i32.const 65513))", 21),
        ("(call $seek (i32.const 0) (i64.const -1) (i32.const 0) (i32.const -1))", 70),
        ("(call $seek (i32.const 9) (i64.const 0) (i32.const 0) (i32.const 0))", 8),
        ("(call $clock (i32.const 0) (i64.const 1) (i32.const 512))", 0),
        ("(call $clock (i32.const 1) (i64.const 1) (i32.const 65529))", 21),
        ("(call $sizes (i32.const 512) (i32.const 516))", 0),
        ("(call $sizes (i32.const 512) (i32.const -1))", 21),
        ("(call $environ (i32.const 512) (i32.const 516))", 0),
    ],
)
def test_error_numbers(sandbox, call, expected):
    """Every function answers with the error number of its fault, and with 0 where there is none."""
    assert f"{expected:02}" == sandbox.run(text(f"(local.set $n {call})"))


@pytest.mark.parametrize("stream", ["read (i32.const 0)", "write (i32.const 1)", "write (i32.const 2)"])  # fmt: skip
@pytest.mark.parametrize(
    ("at", "size"),
    [
        (65_536, 1),
        (65_535, 2),
        (0, 65_537),
        (65_537, 0),
        (2**31, 16),
        (2**32 - 1, 1),
        (2**32 - 1, 2**32 - 1),
        (1, 2**32 - 1),
        (2**32 - 16, 32),
    ],
)
def test_a_buffer_outside_the_memory(sandbox, stream, at, size):
    """One of two buffers that is not in the memory is a fault, and nothing is read or written."""
    wat = text(f"""
    (i32.store (i32.const 1024) (i32.const 2048))
    (i32.store (i32.const 1028) (i32.const 1))
    (i32.store (i32.const 1032) (i32.const {at}))
    (i32.store (i32.const 1036) (i32.const {size}))
    (i32.store8 (i32.const 2048) (i32.const 35))
    (local.set $n (call ${stream} (i32.const 1024) (i32.const 2) (i32.const 12)))
    (if (i32.ne (i32.load8_u (i32.const 2048)) (i32.const 35)) (then (unreachable)))""")

    assert "21" == sandbox.run(wat)
    assert [] == sandbox.logged


@pytest.mark.parametrize(("at", "size"), [(65_536, 0), (65_535, 1), (61_440, 4_096)])
def test_a_buffer_at_the_very_end(sandbox, at, size):
    """A buffer that ends with the memory is in it."""
    wat = text(f"""
    (i32.store (i32.const 1024) (i32.const {at}))
    (i32.store (i32.const 1028) (i32.const {size}))
    (local.set $n (i32.mul (i32.const 30)
      (call $read (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 12))))
    (local.set $n (i32.add (local.get $n) (i32.load (i32.const 12))))""")

    assert f"{min(size, 2):02}" == sandbox.run(wat)


def test_an_environment_without_anything(sandbox):
    """The environment has no variables."""
    body = """
    (i64.store (i32.const 512) (i64.const -1))
    (drop (call $sizes (i32.const 512) (i32.const 516)))
    (local.set $n (i64.eqz (i64.load (i32.const 512))))"""

    assert "01" == sandbox.run(text(body))


def test_the_clock_stands_still(sandbox):
    """Both clocks give the run's start, as often as they are asked."""
    body = """
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 512)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 520)))
    (local.set $n (i32.add
      (i64.eq (i64.load (i32.const 512)) (i64.load (i32.const 520)))
      (i64.gt_u (i64.load (i32.const 512)) (i64.const 1700000000000000000))))"""

    assert "02" == sandbox.run(text(body))


def test_exit_code_zero_reads_the_output(sandbox):
    """proc_exit(0) ends the run, and what was written is the answer."""
    wat = program(
        "(call $say (i32.const 1) (i32.const 256) (i32.const 7)) (call $exit (i32.const 0)) unreachable"
    )

    assert [0, 0] == sandbox.run(wat)


def test_another_exit_code_fails(sandbox):
    """Any other exit code is a failure that names it, with the end of standard error."""
    wat = program(
        "(call $say (i32.const 2) (i32.const 640) (i32.const 11)) (call $exit (i32.const 3))",
        '(data (i32.const 640) "went wrong\\n")',
    )

    with pytest.raises(GeneFailed, match=r"exit code 3 before it answered: went wrong$"):
        sandbox.run(wat)
    assert [("g", "went wrong")] == sandbox.logged


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "had written nothing on standard output"),
        ("(call $say (i32.const 1) (i32.const 640) (i32.const 3))", "answered what is not JSON"),
        ("unreachable", "failed in 'main': it gave up"),
    ],
)
def test_no_answer(sandbox, body, said):
    """Nothing, half a document and a trap are failures that say what was wrong."""
    wat = program(body, '(data (i32.const 640) "[1,")').replace(
        '(func (export "_start")', '(func $main (export "_start")'
    )

    with pytest.raises(GeneFailed, match=said):
        sandbox.run(wat)


def test_input_in_pieces(sandbox):
    """The input can be read a byte at a time, into many buffers, up to its end."""
    wat = program("""
      (local $at i32)
      (i32.store (i32.const 4) (i32.const 1))
      (i32.store (i32.const 0) (i32.const 4096))
      (loop $next
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 12)))
        (if (i32.load (i32.const 12)) (then
          (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
          (br $next))))
      (call $say (i32.const 1) (i32.const 4096)
        (i32.sub (i32.load (i32.const 0)) (i32.const 4096)))""")
    given = list(range(300))

    assert given == sandbox.run(wat, given)


def test_more_output_than_an_answer_may_have(sandbox):
    """Output without an end is a failure, and takes no memory without an end."""
    wat = program(
        "(loop $again (call $say (i32.const 1) (i32.const 0) (i32.const 4194304)) (br $again))",
        memory=64,
    )

    with pytest.raises(GeneFailed, match="wrote more than 67,108,864 bytes on standard output"):
        sandbox.run(wat)


def test_standard_output_in_direct_mode(sandbox):
    """What a module in direct mode writes there is printed; it is not the answer."""
    wat = program("").replace(
        '(func (export "_start") )',
        """
      (func (export "express") (param i32 i32) (result i32)
        (call $say (i32.const 1) (i32.const 256) (i32.const 3))
        (i32.store8 (i32.const 700) (i32.const 55))
        (i32.const 700))""",
    )

    assert 7 == sandbox.run(wat)
    assert [("g", " [0")] == sandbox.logged


@pytest.mark.parametrize("name", ["random_get", "path_open", "args_get", "poll_oneoff"])
def test_what_there_is_not(sandbox, name):
    """Other functions of WASI cannot be imported; the refusal names the one."""
    wat = f'(module (import "{WASI}" "{name}" (func)) (memory (export "memory") 1) (func (export "_start")))'

    with pytest.raises(GeneError, match=f"imports {WASI}.{name}, which is not there"):
        sandbox.run(wat)


def test_a_program_that_asks_what_its_streams_are(sandbox):
    """A stream is of no kind that a C library would take for a terminal."""
    body = """
    (drop (call $stat (i32.const 1) (i32.const 512)))
    (local.set $n (i32.load8_u (i32.const 512)))"""

    assert "00" == sandbox.run(text(body))


def test_refusals_are_answers(sandbox):
    """A document with the refusal's one key comes out as it is: it is the caller's to judge."""
    refusal = {"__rotifer_error": {"code": "X", "message": "no"}}

    assert refusal == sandbox.run(ECHO, refusal)
