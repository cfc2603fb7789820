"""A way to the server that can be cut at a chosen byte, or go silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit, urlunsplit

UP, DOWN = "up", "down"  # from the client to the server, and back


class Proxy:
    """Forwards connections to a server; ``url`` leads through it."""

    def __init__(self, url):
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        host = f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}"
        self.url = urlunsplit(parts._replace(netloc=host))
        self.sizes = {UP: [], DOWN: []}
        self._lock = threading.Lock()
        self._cut = None
        self._flows = threading.Event()
        self._flows.set()
        self._pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, direction, count):
        """Cut the connection over which so many more bytes have come that way; once."""
        with self._lock:
            self._cut = (direction, count)

    @property
    def has_cut(self):
        """Whether that has happened."""
        return self._cut is None

    def forget(self):
        """Cut nothing, and count from here on."""
        with self._lock:
            self._cut = None
            self.sizes = {UP: [], DOWN: []}

    def hold(self):
        """From here on nothing goes through; nothing is closed either."""
        self._flows.clear()

    def flow(self):
        """Let it go through again, what was held too."""
        self._flows.set()

    def strand(self):
        """What is open gets no further, now and for ever; new connections do."""
        with self._lock:
            for pair in self._pairs:
                pair.append("stranded")

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            pair = [client, server]
            with self._lock:
                self._pairs.append(pair)
            for direction, source, sink in ((UP, client, server), (DOWN, server, client)):
                threading.Thread(
                    target=self._forward, args=(direction, source, sink, pair), daemon=True
                ).start()

    def _forward(self, direction, source, sink, pair):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self._flows.wait()
                if len(pair) > 2:
                    return
                with self._lock:
                    self.sizes[direction].append(len(data))
                    left = None
                    if self._cut is not None and self._cut[0] == direction:
                        left = self._cut[1]
                        self._cut = (direction, left - len(data)) if left > len(data) else None
                if left is not None and left <= len(data):
                    sink.sendall(data[:left])
                    break
                sink.sendall(data)
        if len(pair) == 2:
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Close everything."""
        self.flow()
        self._listener.close()
        with self._lock:
            for client, server, *_ in self._pairs:
                client.close()
                server.close()
