"""What a WASM module says about itself: its sections, imports, exports and memory.

The bytes are anybody's. Nothing is trusted: every length is held against what is left, every
number has its largest size, and the time taken is linear in the bytes.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEADER", "Export", "Import", "Layout", "Memory", "NotWasm", "Section", "read_layout"]

HEADER = b"\0asm\x01\0\0\0"
CUSTOM, TYPE, IMPORT, FUNCTION, MEMORY, EXPORT, CODE = 0, 1, 2, 3, 5, 7, 10
_KINDS = ("function", "table", "memory", "global", "tag")
_VALUES = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64", 0x7B: "v128"}
_FUNCTYPE = 0x60
_MANY = 1_000_000  # wasmtime's own bound for what a section can list


class NotWasm(ValueError):
    """The bytes are no module that can be read; ``str()`` says why."""


class Section(NamedTuple):
    """One section: where its contents are, without id and size."""

    number: int
    name: str | None
    """Of a custom section."""
    outer: int
    """Where its id stands."""
    start: int
    """Where its contents start; a custom section's after its name."""
    end: int


class Import(NamedTuple):
    """One import."""

    module: str
    name: str
    kind: str
    type: str
    """A function's, as ``(i32, i32) -> i32``; else empty."""


class Export(NamedTuple):
    """One export."""

    name: str
    kind: str
    type: str


class Memory(NamedTuple):
    """A memory's size in pages of 64 KiB."""

    minimum: int
    maximum: int | None
    shared: bool


class Layout(NamedTuple):
    """What a module says about itself."""

    sections: list[Section]
    imports: list[Import]
    exports: dict[str, Export]
    memories: list[Memory]
    """The imported ones first."""


class _Reader:
    """A position in the bytes, and an end that it never passes."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data = data
        self.at = start
        self.end = end

    def byte(self) -> int:
        if self.at >= self.end:
            raise NotWasm(f"it ends too early, at byte {self.at:,}")
        self.at += 1
        return self.data[self.at - 1]

    def number(self, bits: int = 32) -> int:
        """An unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= bits:
                raise NotWasm(f"a number at byte {self.at:,} has too many bytes")
        if value >> bits:
            raise NotWasm(f"a number at byte {self.at:,} has more than {bits} bits")
        return value

    def count(self) -> int:
        """How many items follow; each takes a byte at least."""
        count = self.number()
        if count > min(_MANY, self.end - self.at):
            raise NotWasm(f"a list of {count:,} items at byte {self.at:,} is too long")
        return count

    def text(self) -> str:
        size = self.number()
        if size > self.end - self.at:
            raise NotWasm(f"a name of {size:,} bytes at byte {self.at:,} is too long")
        self.at += size
        try:
            return self.data[self.at - size : self.at].decode("utf-8")
        except UnicodeDecodeError:
            raise NotWasm(f"a name before byte {self.at:,} is not UTF-8") from None

    def value_type(self) -> str:
        byte = self.byte()
        if byte in {0x63, 0x64}:  # (ref null? heaptype)
            self.number(33)
        return _VALUES.get(byte, "reference")

    def limits(self) -> Memory:
        flags = self.byte()
        bits = 64 if flags & 4 else 32
        low = self.number(bits)
        high = self.number(bits) if flags & 1 else None
        if flags & 8:
            self.number()  # the size of its pages
        return Memory(low, high, shared=bool(flags & 2))


def read_layout(data: bytes) -> Layout:
    """Read a module.

    Raises:
        NotWasm: it cannot be read.
    """
    if not data.startswith(HEADER):
        raise NotWasm("it does not start with the eight bytes of a WASM module")
    sections = _sections(data)
    types: list[str] = []
    imports: list[Import] = []
    functions: list[int] = []
    memories: list[Memory] = []
    listed: list[tuple[str, int, int]] = []
    for section in sections:
        reader = _Reader(data, section.start, section.end)
        if section.number == TYPE:
            types = _types(reader)
        elif section.number == IMPORT:
            imports = _imports(reader, types, functions, memories)
        elif section.number == FUNCTION:
            functions += [reader.number() for _ in range(reader.count())]
        elif section.number == MEMORY:
            memories += [reader.limits() for _ in range(reader.count())]
        elif section.number == EXPORT:
            listed = [
                (reader.text(), reader.byte(), reader.number()) for _ in range(reader.count())
            ]
    exports: dict[str, Export] = {}
    for name, kind, index in listed:
        known = kind == 0 and index < len(functions)
        exports[name] = Export(
            name, _kind(kind), _type_at(types, functions[index]) if known else ""
        )
    return Layout(sections, imports, exports, memories)


def _sections(data: bytes) -> list[Section]:
    reader = _Reader(data, len(HEADER), len(data))
    sections: list[Section] = []
    while reader.at < reader.end:
        outer = reader.at
        number = reader.byte()
        size = reader.number()
        start, end = reader.at, reader.at + size
        if end > len(data):
            raise NotWasm(f"the section at byte {outer:,} is longer than the file")
        name = None
        if number == CUSTOM:
            inner = _Reader(data, start, end)
            name = inner.text()
            start = inner.at
        sections.append(Section(number, name, outer, start, end))
        reader.at = end
    return sections


def _types(reader: _Reader) -> list[str]:
    types: list[str] = []
    for _ in range(reader.count()):
        if reader.byte() != _FUNCTYPE:
            raise NotWasm(f"the type before byte {reader.at:,} is no function type")
        sides = [", ".join([reader.value_type() for _ in range(reader.count())]) for _ in range(2)]
        results = sides[1] if sides[1] and "," not in sides[1] else f"({sides[1]})"
        types.append(f"({sides[0]}) -> {results}")
    return types


def _imports(
    reader: _Reader, types: list[str], functions: list[int], memories: list[Memory]
) -> list[Import]:
    imports: list[Import] = []
    for _ in range(reader.count()):
        module, name, kind = reader.text(), reader.text(), reader.byte()
        shown = ""
        if kind == 0:
            functions.append(reader.number())
            shown = _type_at(types, functions[-1])
        elif kind == 1:
            reader.value_type()
            reader.limits()
        elif kind == 2:
            memories.append(reader.limits())
        elif kind == 3:
            reader.value_type()
            reader.byte()
        elif kind == 4:
            reader.byte()
            reader.number()
        else:
            raise NotWasm(f"the import before byte {reader.at:,} is of no known kind")
        imports.append(Import(module, name, _kind(kind), shown))
    return imports


def _type_at(types: list[str], index: int) -> str:
    if index >= len(types):
        raise NotWasm(f"there is no type {index:,}")
    return types[index]


def _kind(number: int) -> str:
    return _KINDS[number] if number < len(_KINDS) else "thing of no known kind"
