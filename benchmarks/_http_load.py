"""Many clients of one HTTP service at once: each sends its next request when its answer is there.

As light as Python can be, because it shares the machine with what it measures: one process, one
protocol object a connection, no HTTP library. Prints one JSON line.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections import Counter
from functools import partial

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load, number: int) -> None:
        self.load = load
        self.number = number
        self.count = 0
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request."""
        body = self.load.body.replace(b"@C", b"%d" % self.number).replace(b"@N", b"%d" % self.count)
        self.count += 1
        self.sent = time.perf_counter()
        self.transport.write(self.load.head % len(body) + body)

    def data_received(self, data: bytes) -> None:
        """Count an answer that is whole."""
        self.buffer += data
        head, mark, body = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        length = _LENGTH.search(head)
        if length is None or len(body) < int(length[1]):
            return
        self.buffer = b""
        now = time.perf_counter()
        self.load.times.append(now - self.sent)
        self.load.statuses[head[9:12].decode()] += 1
        if now < self.load.end:
            self.send()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it out."""
        self.load.left -= 1
        if self.buffer or (exc is not None):
            self.load.statuses["lost"] += 1
        if self.load.left == 0:
            self.load.done.set()


class Load:
    """All of them."""

    def __init__(self, plan: dict[str, object]) -> None:
        lines = [f"POST {plan['path']} HTTP/1.1", f"host: 127.0.0.1:{plan['port']}"]
        if plan.get("token"):
            lines.append(f"authorization: Bearer {plan['token']}")
        lines += ["content-type: application/json", "content-length: %d", "", ""]
        self.head = "\r\n".join(lines).encode()
        self.body = json.dumps(plan["body"]).encode()
        self.times: list[float] = []
        self.statuses: Counter[str] = Counter()
        self.left = int(str(plan["clients"]))
        self.end = 0.0

    async def run(self, port: int, seconds: float) -> dict[str, object]:
        """Send for so many seconds, and give what came back."""
        loop = asyncio.get_running_loop()
        self.done = asyncio.Event()
        started = time.perf_counter()
        self.end = started + seconds
        for number in range(self.left):
            await loop.create_connection(partial(Client, self, number), "127.0.0.1", port)
        await self.done.wait()
        self.times.sort()
        return {
            "rate": len(self.times) / (time.perf_counter() - started),
            "statuses": dict(self.statuses),
            "median": self.times[len(self.times) // 2],
            "p99": self.times[len(self.times) * 99 // 100],
        }


def main() -> None:
    """Take the plan from standard input."""
    plan = json.load(sys.stdin)
    print(json.dumps(asyncio.run(Load(plan).run(plan["port"], plan["seconds"]))))


if __name__ == "__main__":
    main()
