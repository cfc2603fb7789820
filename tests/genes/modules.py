"""Small modules for one purpose each, in WAT; `building` has those of other languages."""

from __future__ import annotations

from tests.genes.building import wat

IMPORTS = (
    "".join(
        f'(import "rotifer" "{name}Memory" (func ${name} (param i32 i32 i32 i32) (result i32)))'
        for name in ("read", "write", "query", "delete")
    )
    + '(import "rotifer" "log" (func $log (param i32 i32 i32)))'
)


def text(at, words):
    """A NUL-terminated text in the module's memory."""
    escaped = "".join(f"\\{byte:02x}" for byte in words.encode())
    return f'(data (i32.const {at}) "{escaped}\\00")'


def gene(body, *parts, pages=2):
    """A module whose ``express`` has this body; its input lies at 0, as there is no ``alloc``."""
    return wat(
        f'(module {IMPORTS} (memory (export "memory") {pages} 1024) {" ".join(parts)}'
        f'(func (export "express") (param $ptr i32) (param $len i32) (result i32) {body}))'
    )


def answering(words):
    """One that gives the same answer to everything."""
    return gene("(i32.const 65536)", text(65536, words))


def echo():
    """One that gives its input back: what lies at 0 ends where the memory is still zero."""
    return gene("(local.get $ptr)")


def failing(code):
    """One that gives an error code."""
    return gene(f"(i32.const {code})")


def endless():
    """One that never answers."""
    return gene("(loop $again (br $again)) (unreachable)")


def waiting(key):
    """One that writes an entry, and then asks for it again and again: its time runs out first."""
    again = f'{{"key":"{key}"}}'
    return writing(
        key,
        "null",
        after=f"""
        (loop $again
          (drop (call $read (i32.const 75000) (i32.const {len(again)})
            (i32.const 80000) (i32.const 4000)))
          (br $again))
        (unreachable)""",
        more=text(75000, again),
    )


def writing(key, answer, *, policy=None, after="(i32.const 70000)", more=""):
    """One that writes an entry, and then answers."""
    scope = f',"accessPolicy":{policy}' if policy else ""
    request = f'{{"key":"{key}","value":"AQ==","category":"CONTEXT"{scope}}}'
    return gene(
        f"(drop (call $write (i32.const 65536) (i32.const {len(request)})"
        f" (i32.const 80000) (i32.const 4000))) {after}",
        text(65536, request),
        text(70000, answer),
        more,
    )


def meeting(mine, theirs):
    """One that writes its entry and waits until the other's is there."""
    written = f'{{"key":"{mine}","value":"","category":"CONTEXT"}}'
    awaited = f'{{"key":"{theirs}"}}'
    return gene(
        f"""
        (drop (call $write (i32.const 65536) (i32.const {len(written)})
          (i32.const 80000) (i32.const 4000)))
        (loop $not_yet
          (br_if $not_yet
            (i32.eq (i32.const 4) ;; null
              (call $read (i32.const 66000) (i32.const {len(awaited)})
                (i32.const 80000) (i32.const 4000)))))
        (i32.const 67000)""",
        text(65536, written),
        text(66000, awaited),
        text(67000, f'"{mine} met {theirs}"'),
    )


def crowding():
    """One that writes an entry under a key of its run's own, and waits until there is another."""
    return wat(
        f"""(module {IMPORTS}
      (import "rotifer" "readContext"
        (func $context (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 2 1024)
      {text(65536, "trace_id")} {text(66000, '{"key":')} {text(66041, ',"value":"","category":"CACHE"}')}
      {text(67000, '"there are two"')}
      (func (export "express") (param i32 i32) (result i32)
        (drop (call $context
          (i32.const 65536) (i32.const 8) (i32.const 66007) (i32.const 34)))
        (drop (call $write
          (i32.const 66000) (i32.const 72) (i32.const 80000) (i32.const 4000)))
        (loop $alone ;; one entry takes some 500 bytes
          (br_if $alone (i32.gt_s (i32.const 700)
            (call $query (i32.const 0) (i32.const 0) (i32.const 80000) (i32.const 4000)))))
        (i32.const 67000)))"""
    )


def judging(digit, then):
    """One that does something else to an input that begins with this digit; else it echoes."""
    return gene(
        f"(if (i32.eq (i32.load8_u (local.get $ptr)) (i32.const {ord(digit)})) (then {then}))"
        "(local.get $ptr)",
        text(70000, '{"__rotifer_error":{"message":"not this digit"}}'),
    )


def remembering(key, first, later):
    """One that gives another answer once its entry is there."""
    asked = f'{{"key":"{key}"}}'
    written = f'{{"key":"{key}","value":"MQ==","category":"CONTEXT"}}'
    return gene(
        f"""
        (if (i32.gt_s (i32.const 5)
              (call $read (i32.const 65536) (i32.const {len(asked)})
                (i32.const 80000) (i32.const 4000)))
          (then
            (drop (call $write (i32.const 66000) (i32.const {len(written)})
              (i32.const 80000) (i32.const 4000)))
            (return (i32.const 67000))))
        (i32.const 68000)""",
        text(65536, asked),
        text(66000, written),
        text(67000, first),
        text(68000, later),
    )


def counting():
    """One that counts its runs in a global: each run finds it at zero."""
    return gene(
        "(global.set $runs (i32.add (global.get $runs) (i32.const 1)))"
        "(i32.store8 (i32.const 70000) (i32.add (i32.const 48) (global.get $runs)))"
        "(i32.const 70000)",
        "(global $runs (mut i32) (i32.const 0))",
    )


def printing(line, answer):
    """One that logs a line, and then answers."""
    return gene(
        f"(call $log (i32.const 1) (i32.const 65536) (i32.const {len(line.encode())}))"
        "(i32.const 70000)",
        text(65536, line),
        text(70000, answer),
    )
