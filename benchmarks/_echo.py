"""The yardsticks, each in a process of its own: a plain socket echo, and a bare pynng echo.

Run as ``python _echo.py NODE plain|nng SIZE COUNT``; prints the microseconds of each call as JSON.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Serve the client until it has its figures."""
    node, kind, size, count = sys.argv[1:]
    ours, theirs = socket.socketpair()
    os.set_inheritable(theirs.fileno(), True)
    script = os.path.join(HERE, "_echo_client.cjs")
    pid = os.posix_spawn(
        node,
        [node, script, kind, size, count],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 3)],
    )
    theirs.close()
    if kind == "plain":
        plain(ours, int(size))
        os.waitpid(pid, 0)
    else:
        bare_nng(ours.detach(), pid)


def plain(connection: socket.socket, size: int) -> None:
    """Give every frame back."""
    frame = bytearray(12 + size)
    view = memoryview(frame)
    while True:
        got = 0
        while got < len(frame):
            some = connection.recv_into(view[got:])
            if some == 0:
                return
            got += some
        connection.sendall(frame)


def bare_nng(fd: int, pid: int) -> None:
    """Give every message back, with pynng as anyone would use it."""
    import pynng

    with pynng.Rep0() as responder:
        listener = responder.listen("socket://")
        pynng.lib.nng_listener_set_int(listener.listener, b"socket:fd", fd)

        def serve() -> None:
            try:
                while True:
                    responder.send(responder.recv())
            except pynng.Closed:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        os.waitpid(pid, 0)
        responder.close()
        thread.join()


if __name__ == "__main__":
    main()
