"""Slow clients, half-closed connections, floods: the service stays up and says why it refuses."""

from __future__ import annotations

import json
import resource
import select
import socket
import time

import pytest

from rotifer_bridge._service_lanes import LANES, SHARES

HEAD = b"POST /agents/keeper/memory/read HTTP/1.1\r\nHost: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def dial(service):
    """A connection to it."""
    return socket.create_connection((service.host, service.port), timeout=20)


def read_all(connection):
    """What comes until the other side closes."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass  # it has closed with bytes of ours unread
    return b"".join(parts)


def until_closed(connection, seconds=20):
    """The seconds it took the other side to close, and what it said before."""
    started = time.monotonic()
    connection.settimeout(seconds)
    said = read_all(connection)
    return time.monotonic() - started, said


def head_of(cell, *lines):
    """The head of a request as the gene."""
    fields = [f"Authorization: Bearer {cell.notes}", *lines]
    return HEAD + "".join(f"{line}\r\n" for line in fields).encode() + b"\r\n"


def is_up(service):
    """Whether it answers a request of somebody else."""
    return service.ask("GET", "/healthz").status == 200


# ---- sizes


def test_bodies_over_the_limit(shared):
    """413 with the figures, whether the length is said beforehand or not; the next is fine."""
    service = shared.service
    path = "/agents/keeper/memory/read"
    said = service.ask("POST", path, b" " * 2_097_153, shared.notes)
    with dial(service) as connection:
        connection.sendall(head_of(shared, "Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        for _ in range(33):
            connection.sendall(chunk)
        connection.sendall(b"0\r\n\r\n")
        answer = connection.recv(65_536)

    assert (413, "BODY_TOO_LARGE") == (said.status, said.code)
    assert "2,097,153 bytes or more; the limit is 2,097,152" in said.message
    assert answer.startswith(b"HTTP/1.1 413")
    assert 200 == service.ask("POST", path, b'{"key": "a"}' + b" " * 2_000_000, shared.notes).status


def test_a_body_is_not_awaited_of_somebody_who_is_not_let_in(shared):
    """401 comes before the body does."""
    service = shared.service
    with dial(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")

        assert connection.recv(65_536).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # somebody speaks TLS
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n",
        b"\0" * 100 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request(shared, sent):
    """400 in the shape of every error, and the connection ends."""
    service = shared.service
    with dial(service) as connection:
        connection.sendall(sent)
        took, said = until_closed(connection)

    assert took < 5
    assert said.startswith(b"HTTP/1.1 400")
    assert {"code", "message"} == json.loads(said.partition(b"\r\n\r\n")[2])["error"].keys()
    assert is_up(service)


def test_pipelined_requests_are_answered_in_order(shared):
    """Three requests in one packet, three answers."""
    service = shared.service
    with dial(service) as connection:
        connection.sendall(
            HEALTH * 2 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        )
        _, said = until_closed(connection)

    assert 3 == said.count(b"HTTP/1.1 200")


# ---- time


def test_a_slow_head(cell):
    """A head that does not come to its end gets 408, drip by drip as it may come."""
    service = cell.serve_with(head=0.6)
    with dial(service) as connection:
        connection.sendall(HEAD)
        started = time.monotonic()
        while not select.select([connection], [], [], 0.1)[0]:
            connection.sendall(b"X: y\r\n")
        _, said = until_closed(connection)
        took = time.monotonic() - started

    assert 0.4 < took < 5
    assert said.startswith(b"HTTP/1.1 408")
    assert "its request took more than 0.6 s to come" in service.log()
    assert is_up(service)


def test_a_silent_connection(cell):
    """One that says nothing is closed without a word; the log has why."""
    service = cell.serve_with(head=0.3)
    with dial(service) as connection:
        took, said = until_closed(connection)

    assert took < 5
    assert b"" == said
    assert "no request came on it within 0.3 s" in service.log()


def test_silence_after_an_answer(cell):
    """Between two requests the same time counts as before the first."""
    service = cell.serve_with(head=0.3)
    with dial(service) as connection:
        connection.sendall(HEALTH)
        took, said = until_closed(connection)

    assert took < 5
    assert said.startswith(b"HTTP/1.1 200")
    assert said.endswith(b'{"status":"ok"}')


def test_a_second_request_that_never_ends(cell):
    """The deadline also runs for a head after the first request."""
    service = cell.serve_with(head=0.3)
    with dial(service) as connection:
        connection.sendall(HEALTH)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(HEAD)
        took, _ = until_closed(connection)

    assert took < 5
    assert is_up(service)


def test_a_slow_body(cell):
    """A body that does not come to its end gets 408."""
    service = cell.serve_with(body=0.3)
    with dial(service) as connection:
        connection.sendall(head_of(cell, "Content-Length: 100") + b'{"key"')
        took, said = until_closed(connection)

    assert took < 5
    assert said.startswith(b"HTTP/1.1 408")
    assert b"6 bytes of it did" in said
    assert is_up(service)


def test_slow_bodies_of_one_take_no_place_of_others(shared):
    """Whoever sends many bodies slowly is told so; others write on, and then all is well."""
    head = b"POST /memory HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
    head += f"Authorization: Bearer {shared.alice}\r\n\r\n{{".encode()
    slow = [dial(shared.service) for _ in range(LANES["change"].most)]
    try:
        for connection in slow:
            connection.sendall(head)
        note = {"layer": "about_me", "content": "x"}
        deadline = time.monotonic() + 20
        while True:
            mine = shared.service.ask("POST", "/memory?actor=alice", note, shared.alice)
            if mine.status == 503:
                break
            assert time.monotonic() < deadline
        theirs = shared.service.ask("POST", "/memory?actor=bob", note, shared.bob)
    finally:
        for connection in slow:
            connection.close()

    assert ("BUSY", "1") == (mine.code, mine.headers["retry-after"])
    assert (
        f"{LANES['change'].most // SHARES} bodies are on their way with this token" in mine.message
    )
    assert 201 == theirs.status
    deadline = time.monotonic() + 20
    while 201 != shared.service.ask("POST", "/memory?actor=alice", note, shared.alice).status:
        assert time.monotonic() < deadline


def test_an_answer_that_nobody_takes(cell):
    """A client that asks for much and reads nothing is cut off; the log has why."""
    service = cell.serve_with(take=0.4)
    for number in range(3):
        value = "A" * 1_398_100
        service.ask("POST", "/agents/keeper/memory/write", {"key": f"k{number}", "value": value, "category": "CACHE"}, cell.notes)  # fmt: skip
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect((service.host, service.port))
        body = b'{"limit": 1000}'
        request = head_of(cell, f"Content-Length: {len(body)}").replace(b"/read", b"/query") + body
        connection.sendall(request)
        deadline = time.monotonic() + 20
        while "its answer was not taken within 0.4 s" not in service.log():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    assert is_up(service)


def test_a_client_that_goes_away_within_its_body(cell):
    """Nothing is carried out, and nothing is left."""
    service = cell.serve()
    for _ in range(20):
        with dial(service) as connection:
            connection.sendall(head_of(cell, "Content-Length: 100") + b'{"key"')

    assert is_up(service)
    assert "error" not in service.log()


def test_a_half_closed_connection_gets_its_answer(shared):
    """A client that has shut its sending side down is still answered, then closed."""
    service = shared.service
    for _ in range(5):
        with dial(service) as connection:
            body = b'{"key": "a"}'
            connection.sendall(head_of(shared, f"Content-Length: {len(body)}") + body)
            connection.shutdown(socket.SHUT_WR)
            took, said = until_closed(connection)
            assert took < 5
            assert said.startswith(b"HTTP/1.1 200")

    assert is_up(service)


# ---- numbers


def test_more_connections_than_there_may_be(cell):
    """The next one gets 503 and a line in the log; when others have gone, all is well."""
    service = cell.serve_with(connections=20, head=60.0)
    idle = [dial(service) for _ in range(20)]
    try:
        with dial(service) as one_more:
            _, said = until_closed(one_more)
        for _ in range(30):
            dial(service).close()
    finally:
        for connection in idle:
            connection.close()

    assert said.startswith(b"HTTP/1.1 503")
    assert b"20 connections are open, which is the limit" in said
    assert b"retry-after: " in said
    assert 1 == service.log().count("refused a connection: 20 are open, which is the limit")
    deadline = time.monotonic() + 10
    while True:
        try:
            assert is_up(service)
            break
        except (AssertionError, OSError):
            assert time.monotonic() < deadline


def flood(service, count):
    """So many idle connections."""
    return [dial(service) for _ in range(count)]


def test_few_descriptors(cell):
    """Where the machine allows few descriptors, connections are refused before they run out."""
    low = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 700))  # noqa: E731
    service = cell.serve_with(head=60.0, preexec_fn=low)
    idle = flood(service, 600)
    try:
        with dial(service) as one_more:
            _, said = until_closed(one_more)
    finally:
        for connection in idle:
            connection.close()

    assert said.startswith(b"HTTP/1.1 503")
    assert "refused a connection: " in service.log()
    assert "Too many open files" not in service.log()
    assert (0, "") == service.stop()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_ten_thousand_idle_connections(cell):
    """The service answers while they are there, or says why it does not; then all is well."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    service = cell.serve_with(head=120.0)
    idle = flood(service, 10_000)
    try:
        started = time.monotonic()
        answer = service.ask("POST", "/agents/keeper/memory/read", {"key": "a"}, cell.notes)
        took = time.monotonic() - started
    finally:
        for connection in idle:
            connection.close()

    with open(f"/proc/{service.process.pid}/status", encoding="ascii") as file:
        print(took, [line for line in file if line.startswith("VmHWM")])
    assert 200 == answer.status
    assert took < 5
    assert (0, "") == service.stop()
