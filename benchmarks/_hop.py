"""The Python side of other people's bridges: give every frame on stdin back on stdout."""

from __future__ import annotations

import sys


def main() -> None:
    """Serve until stdin ends. A frame is its length as 4 bytes, big-endian, and the payload."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(4):
        sink.write(head + source.read(int.from_bytes(head, "big")))
        sink.flush()


if __name__ == "__main__":
    main()
