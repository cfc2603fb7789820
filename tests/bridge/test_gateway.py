"""Hybrid genes reach the network through the gateway, and only as far as they say (projects §6)."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from tests.held import given_back

from rotifer_bridge import GeneError, GeneFailed, RunTimedOut

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]

FETCH = """
export async function express({ requests }, ctx) {
  return await Promise.all(requests.map(async ([url, options]) => {
    try {
      return await ctx.gatewayFetch(url, options);
    } catch (error) {
      return { name: error.name, code: error.code, message: error.message };
    }
  }));
}
"""


class Server:
    """A server on 127.0.0.1 that answers each path as the test says, byte for byte."""

    def __init__(self):
        self.answers = {}
        self.seen = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.threads = []
        self.tls = None
        self.acceptor = threading.Thread(target=self.accept)
        self.acceptor.start()

    def accept(self):
        """Take connections until it is closed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def serve(self, plain):
        """Read one request and give its path's answer."""
        with suppress(OSError), self.secured(plain) as connection:
            connection.settimeout(20)
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
            headers = {
                name.lower(): value.strip()
                for name, value in (line.split(":", 1) for line in head.decode().split("\r\n")[1:])
            }
            while len(body) < int(headers.get("content-length", 0)):
                body += connection.recv(65536)
            with self.lock:
                self.seen.append((method, path, headers, body))
            answer = self.answers[path]
            try:
                if callable(answer):
                    answer(connection)
                else:
                    connection.sendall(answer)
            except OSError:
                pass

    def secured(self, connection):
        """The connection, under TLS where the test says so."""
        return (
            connection if self.tls is None else self.tls.wrap_socket(connection, server_side=True)
        )

    def close(self):
        """Stop, with every thread."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join()
        for thread in self.threads:
            thread.join()


def http(body=b"", status="200 OK", headers=()):
    """An answer of HTTP/1.1, whole."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
def server():
    """A server that is stopped, and every thread of it, after the test."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def fetching(bench, server):
    """Runs a Hybrid gene that fetches each of the requests, all at once."""

    @contextmanager
    def agent(source=FETCH, domains=("127.0.0.1",), fidelity="Hybrid", **network):
        fields = {"allowedDomains": list(domains), "maxRequestsPerMin": 1_000, **network}
        bench.gene("g", {"index.ts": source}, fidelity=fidelity, network=fields, inputSchema={}, outputSchema={})  # fmt: skip
        bench.record(1, genome=["g"])
        with bench.project().agent("keeper") as opened:
            yield opened

    def fetch(*requests, **options):
        given = [[url, more] for url, more in requests]
        with agent(**options) as opened:
            return opened.run({"requests": given}).output

    fetch.agent = agent
    return fetch


def one(fetching, url, options=None, **network):
    """The outcome of one request."""
    [outcome] = fetching((url, options or {}), **network)
    return outcome


def test_an_answer_is_handed_over(fetching, server):
    """Status, headers in lower case, text; method, headers and body arrive as they were given."""
    server.answers["/x"] = http("Grüße".encode(), "201 Created", ["X-One: 1"])

    outcome = one(
        fetching,
        f"{server.url}/x",
        {"method": "put", "headers": {"X-Mine": "yes", "Host": "evil"}, "body": "{}"},
    )

    assert (201, "Grüße", False) == (outcome["status"], outcome["body"], outcome["isTruncated"])
    assert "1" == outcome["headers"]["x-one"]
    [(method, _, headers, body)] = server.seen
    assert ("PUT", "yes", b"{}") == (method, headers["x-mine"], body)
    assert f"127.0.0.1:{server.port}" == headers["host"]


def test_the_method_is_post_unless_another_is_said(fetching, server):
    """The default is the reference's, POST; GET has no body."""
    server.answers["/x"] = http()

    fetching((f"{server.url}/x", {}), (f"{server.url}/x", {"method": "GET"}))

    assert {"POST", "GET"} == {method for method, *_ in server.seen}


def test_twenty_take_as_long_as_the_slowest(fetching, server):
    """Promise.all of 20 requests of 0.4 s each is far from 8 s."""

    def slow(connection):
        time.sleep(0.4)
        connection.sendall(http(b"done"))

    server.answers["/slow"] = slow
    server.answers["/first"] = http()
    with fetching.agent() as agent:
        agent.run({"requests": [[f"{server.url}/first", {}]]})  # httpx is imported by now
        started = time.monotonic()
        result = agent.run({"requests": [[f"{server.url}/slow", {}]] * 20})
        took = time.monotonic() - started

    assert ["done"] * 20 == [outcome["body"] for outcome in result.output]
    assert took < 1.6
    assert (20, 80, {}) == result.steps[0].network


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://localhost:PORT/",
        "http://127.0.0.2:PORT/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "not a url",
    ],
)
def test_what_is_not_listed_is_blocked(fetching, server, url):
    """Other hosts, other schemes, no URL at all: DOMAIN_BLOCKED, and nothing is sent."""
    outcome = one(fetching, url.replace("PORT", str(server.port)))

    assert ("NetworkGatewayError", "DOMAIN_BLOCKED") == (outcome["name"], outcome["code"])
    assert [] == server.seen


def test_a_private_address_has_to_be_listed_itself(fetching, server):
    """A listed name that leads to this machine is not enough; the address in the list is."""
    server.answers["/"] = http(b"in")
    url = f"http://localhost:{server.port}/"

    assert "in" == one(fetching, url, domains=["localhost"])["body"]
    numeric = f"http://2130706433:{server.port}/"  # 127.0.0.1, as browsers read it
    assert "in" == one(fetching, numeric)["body"]
    assert "DOMAIN_BLOCKED" == one(fetching, numeric, domains=["*.1", "localhost"])["code"]


def test_a_name_is_asked_once(fetching, server, monkeypatch):
    """The connection goes to the address that was checked, whatever the name says later."""
    from rotifer_bridge import _gateway_connect

    server.answers["/"] = http(b"in")
    places = []

    def getaddrinfo(host, port, **_):
        place = places.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in place]

    monkeypatch.setattr(_gateway_connect.socket, "getaddrinfo", getaddrinfo)
    url = f"http://turns.example:{server.port}/"

    places[:] = [["127.0.0.1"]]
    assert "in" == one(fetching, url, domains=["turns.example", "127.0.0.1"])["body"]
    places[:] = [["127.0.0.1"]]
    assert "DOMAIN_BLOCKED" == one(fetching, url, domains=["*.example"])["code"]
    places[:] = [["10.0.0.1", "127.0.0.1"]]
    assert "in" == one(fetching, url, domains=["turns.example", "127.0.0.1"])["body"]
    assert f"turns.example:{server.port}" == server.seen[0][2]["host"]


def test_a_resolver_that_hangs(fetching, monkeypatch):
    """The time limit holds for names, too, and the end of a run does not wait for them."""
    from rotifer_bridge import _gateway_connect

    answered = threading.Event()
    monkeypatch.setattr(
        _gateway_connect.socket, "getaddrinfo", lambda *_, **__: [answered.wait(20)][1:]
    )
    started = time.monotonic()
    try:
        url = "http://slow.example/"
        assert "TIMEOUT" == one(fetching, url, domains=["*.example"], maxTimeoutMs=300)["code"]
        with fetching.agent(ABANDONS, domains=["*.example"]) as agent:
            assert "done" == agent.run({"url": url}).output
    finally:
        answered.set()
    assert time.monotonic() - started < 5


def test_redirects_are_followed_within_the_list(fetching, server):
    """301 to 303 make a GET of a POST, 307 and 308 keep it; relative places work."""
    for status in (301, 302, 303, 307, 308):
        server.answers[f"/{status}"] = http(status=f"{status} Go", headers=["Location: /end"])
    server.answers["/end"] = http(b"end")

    outcomes = fetching(*[(f"{server.url}/{status}", {"body": "b"}) for status in (301, 302, 303, 307, 308)])  # fmt: skip

    assert ["end"] * 5 == [outcome["body"] for outcome in outcomes]
    ends = sorted((method, body) for method, path, _, body in server.seen if path == "/end")
    assert [("GET", b"")] * 3 + [("POST", b"b")] * 2 == ends


def test_a_redirect_out_of_the_list_is_blocked(fetching, server):
    """Each hop is checked: another host, another address, another scheme."""
    for number, place in enumerate(
        ["http://example.org/", f"http://localhost:{server.port}/", "file:///etc/passwd", "ftp://127.0.0.1/"]
    ):  # fmt: skip
        server.answers[f"/{number}"] = http(status="302 Found", headers=[f"Location: {place}"])

    outcomes = fetching(*[(f"{server.url}/{number}", {}) for number in range(4)])

    assert ["DOMAIN_BLOCKED"] * 4 == [outcome.get("code") for outcome in outcomes]


def test_redirects_have_an_end(fetching, server):
    """A circle of redirects is NETWORK_ERROR."""
    server.answers["/"] = http(status="302 Found", headers=["Location: /"])

    assert "NETWORK_ERROR" == one(fetching, f"{server.url}/")["code"]
    assert 11 == len(server.seen)


def test_credentials_stay_with_their_host(fetching, server):
    """A redirect to another origin loses Authorization and Cookie."""
    other = Server()
    try:
        server.answers["/"] = http(status="307 Go", headers=[f"Location: {other.url}/end"])
        other.answers["/end"] = http(b"end")
        sent = {"headers": {"Authorization": "secret", "Cookie": "secret", "X-Other": "kept"}}

        assert "end" == one(fetching, f"{server.url}/", sent)["body"]

        [(_, _, headers, _)] = other.seen
        assert "kept" == headers["x-other"]
        assert "secret" not in headers.values()
        assert "secret" == server.seen[0][2]["authorization"]
    finally:
        other.close()


def reset(connection):
    """Hang up the hard way, in the middle of the body."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def endless(connection):
    """Chunks without an end, as fast as they are taken."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")


def dripping(head):
    """A byte now and then, after the head: each comes in time, all of them never do."""

    def answer(connection):
        connection.sendall(head)
        while True:
            connection.sendall(b"a")
            time.sleep(0.05)

    return answer


def huge(connection):
    """100 MB without saying so: the connection's end is the body's."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(100):
        connection.sendall(b"x" * 1_000_000)


def silent(connection):
    """Nothing, until the other side goes."""
    connection.recv(1)


BAD = {
    "silent": (silent, "TIMEOUT"),
    "a head that never ends": (dripping(b"HTTP/1.1 200 OK\r\nX: "), "TIMEOUT"),
    "a body that drips": (dripping(b"HTTP/1.1 200 OK\r\n\r\n"), "TIMEOUT"),
    "100 MB, said": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", "RESPONSE_TOO_LARGE"),
    "too short": (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "NETWORK_ERROR"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "NETWORK_ERROR"),
    "a length that is none": (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "NETWORK_ERROR"),
    "reset": (reset, "NETWORK_ERROR"),
    "closed at once": (b"", "NETWORK_ERROR"),
    "not HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", "NETWORK_ERROR"),
    "a huge head": (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000, "NETWORK_ERROR"),
    "a chunk that breaks off": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "NETWORK_ERROR"),
    "not compressed at all": (http(b"plain", headers=["Content-Encoding: gzip"]), "NETWORK_ERROR"),
}  # fmt: skip


def test_servers_that_misbehave(fetching, server):
    """Silent, dripping, huge, cut off, reset, no HTTP: each its code, all within the limit."""
    for number, (answer, _) in enumerate(BAD.values()):
        server.answers[f"/{number}"] = answer

    with fetching.agent(maxTimeoutMs=1_500) as agent:
        started = time.monotonic()
        urls = [f"{server.url}/{number}" for number in range(len(BAD))]
        outcomes = agent.run({"requests": [[url, {}] for url in urls]}).output
        took = time.monotonic() - started

    expected = {name: code for name, (_, code) in BAD.items()}
    assert expected == {name: outcome.get("code") for name, outcome in zip(BAD, outcomes, strict=True)}  # fmt: skip
    assert took < 5


def test_what_is_too_long_is_cut(fetching, server):
    """A body that turns out too long is cut to maxResponseBytes, and that is said."""
    server.answers.update({"/endless": endless, "/huge": huge, "/exact": http(b"x" * 1_000)})

    long, huge_, exact = fetching(
        *[(f"{server.url}/{path}", {}) for path in ("endless", "huge", "exact")],
        maxResponseBytes=1_000,
    )

    assert (1_000, True) == (len(long["body"]), long["isTruncated"])
    assert ("x" * 1_000, True) == (huge_["body"], huge_["isTruncated"])
    assert ("x" * 1_000, False) == (exact["body"], exact["isTruncated"])


def test_a_compressed_body_counts_as_it_unfolds(fetching, server):
    """Compression is undone, and 50 MB of zeros in 50 KB are cut like anything else."""
    import gzip

    bomb = gzip.compress(bytes(50_000_000))
    small = gzip.compress(b"small")
    server.answers["/bomb"] = http(bomb, headers=["Content-Encoding: gzip"])
    server.answers["/small"] = http(small, headers=["Content-Encoding: gzip"])

    cut, whole = fetching((f"{server.url}/bomb", {}), (f"{server.url}/small", {}))

    assert (1_048_576, True) == (len(cut["body"]), cut["isTruncated"])
    assert ("small", False) == (whole["body"], whole["isTruncated"])


def test_head_may_tell_any_length(fetching, server):
    """A length without a body is no body that is too large."""
    server.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"

    assert 200 == one(fetching, f"{server.url}/", {"method": "HEAD"})["status"]


def test_nobody_listens(fetching):
    """A refused connection is NETWORK_ERROR."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    assert "NETWORK_ERROR" == one(fetching, f"http://127.0.0.1:{port}/")["code"]


@pytest.fixture
def pem(tmp_path):
    """A certificate for 127.0.0.1 and its key, made for one test."""
    path = str(tmp_path / "localhost.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", path + ".key", "-out", path],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with open(path + ".key") as key, open(path, "a") as both:
        both.write(key.read())
    return path


def test_tls_is_checked(fetching, server, monkeypatch, pem):
    """Https works with a certificate that is trusted, and not with one that is not."""
    from rotifer_bridge import _gateway_connect

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.tls = context
    server.answers["/"] = http(b"safe")
    url = f"https://127.0.0.1:{server.port}/"

    assert "NETWORK_ERROR" == one(fetching, url)["code"]

    monkeypatch.setenv("SSL_CERT_FILE", pem)
    monkeypatch.setattr(_gateway_connect, "_context", None)
    assert "safe" == one(fetching, url)["body"]
    server.answers["/"] = http(status="302 Go", headers=[f"Location: http://127.0.0.1:{server.port}/"])  # fmt: skip
    assert "DOMAIN_BLOCKED" == one(fetching, url)["code"]
    monkeypatch.setattr(_gateway_connect, "_context", None)


def test_no_tls_where_https_is_asked_for(fetching, server):
    """A server without TLS behind https is NETWORK_ERROR, a silent one TIMEOUT."""
    url = f"https://127.0.0.1:{server.port}/"

    assert one(fetching, url, maxTimeoutMs=500)["code"] in {"NETWORK_ERROR", "TIMEOUT"}


def test_requests_are_counted_over_a_minute(fetching, server):
    """Beyond maxRequestsPerMin in 60 s: RATE_LIMITED at once, in later runs and workers too."""
    server.answers["/"] = http(b"in")
    with fetching.agent(maxRequestsPerMin=3) as agent:
        first = agent.run({"requests": [[f"{server.url}/", {}]] * 5}).output
        agent._warm.runner("g", 1.0).close()
        [later] = agent.run({"requests": [[f"{server.url}/", {}]]}).output

    assert ["in"] * 3 == [outcome["body"] for outcome in first if "body" in outcome]
    assert ["RATE_LIMITED"] * 2 == [outcome["code"] for outcome in first if "code" in outcome]
    assert "RATE_LIMITED" == later["code"]
    assert 3 == len(server.seen)


@pytest.mark.parametrize(
    ("fidelity", "network"),
    [("Wrapped", {"allowedDomains": ["127.0.0.1"]}), ("Hybrid", None), ("Native", {})],
)
def test_other_genes_have_no_gateway(bench, fidelity, network):
    """Only a Hybrid gene with a network has gatewayFetch; the class is there for all."""
    fields = {} if network is None else {"network": network}
    source = "import { NetworkGatewayError } from '@rotifer/playground'; export const express = (x, ctx) => ({ type: typeof ctx.gatewayFetch, error: new NetworkGatewayError('TIMEOUT', 'm').name });"  # fmt: skip
    bench.gene("g", {"index.ts": source}, fidelity=fidelity, **fields)
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        result = agent.run({})

    assert {"type": "undefined", "error": "NetworkGatewayError"} == result.output
    assert result.steps[0].network is None


@pytest.mark.parametrize(
    "network",
    [5, {"allowedDomains": "x"}, {"allowedDomains": [5]}, {"maxTimeoutMs": 0}, {"maxTimeoutMs": True},
     {"maxResponseBytes": 1.5}, {"maxRequestsPerMin": "10"}, {"maxResponseBytes": 10**12}],
)  # fmt: skip
def test_a_bad_network_is_an_error(bench, network):
    """What cannot be used of a phenotype's network is said before anything runs."""
    bench.gene("g", fidelity="Hybrid", network=network)
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(GeneError) as caught:
        agent.run({})

    assert "network" in caught.value.message
    assert "phenotype.json" in caught.value.where


def test_an_error_that_is_not_caught(fetching, server):
    """It ends the run, with its code."""
    source = "export const express = (x, ctx) => ctx.gatewayFetch('http://example.org/');"

    with fetching.agent(source) as agent, pytest.raises(GeneFailed) as caught:
        agent.run({})

    assert "NetworkGatewayError DOMAIN_BLOCKED: example.org" in caught.value.message
    assert "--allow-net HOST" in caught.value.help


@pytest.mark.parametrize(
    "call",
    ["(5)", "(URL, 'x')", "(URL, { method: 5 })", "(URL, { body: {} })", "(URL, { headers: 'x' })"],
)
def test_wrong_arguments_are_type_errors(fetching, server, call):
    """What JavaScript alone can see is refused there, as a rejection."""
    source = f"export const express = (x, ctx) => ctx.gatewayFetch{call.replace('URL', repr(server.url))}.catch((e) => e.name);"  # fmt: skip

    with fetching.agent(source) as agent:
        assert "TypeError" == agent.run({}).output


def test_headers_cannot_smuggle(fetching, server):
    """Line feeds in names and values, odd methods: NETWORK_ERROR, nothing is sent."""
    outcomes = fetching(
        (server.url, {"headers": {"x": "a\r\nHost: evil"}}),
        (server.url, {"headers": {"x y": "a"}}),
        (server.url, {"headers": {"x": "ü\u0100"}}),
        (server.url, {"method": "GET / HTTP/1.1\r\nX: "}),
        (server.url, {"method": "CONNECT"}),
        (server.url.replace("127", "u:p@127"), {}),
    )

    assert ["NETWORK_ERROR"] * 6 == [outcome["code"] for outcome in outcomes]
    assert [] == server.seen


ABANDONS = """
let kept;
export async function express({ url, how }, ctx) {
  if (how === 'stale') return await kept(url).catch((error) => error.code);
  kept = ctx.gatewayFetch;
  ctx.gatewayFetch(url).catch(() => { throw new Error('told of an old request'); });
  await new Promise((resolve) => setTimeout(resolve, 100));
  if (how === 'throw') throw new Error('mine');
  if (how === 'hang') for (;;);
  return 'done';
}
"""


def test_what_is_not_waited_for_is_given_up(fetching, server):
    """A run that ends with requests outstanding ends; they disturb no later run."""
    server.answers["/"] = silent
    url = f"{server.url}/"
    with fetching.agent(ABANDONS) as agent:
        started = time.monotonic()
        assert "done" == agent.run({"url": url}).output
        with pytest.raises(GeneFailed, match="mine"):
            agent.run({"url": url, "how": "throw"})
        assert "NETWORK_ERROR" == agent.run({"url": url, "how": "stale"}).output
        with pytest.raises(RunTimedOut):
            agent.run({"url": url, "how": "hang"}, time_limit=0.6)
        assert time.monotonic() - started < 5


def test_a_promise_that_never_settles_is_found_out(fetching, server):
    """The gateway's socket does not keep a gene alive that waits for nothing of it."""
    source = "export async function express(x, ctx) { await ctx.gatewayFetch(x.url); await new Promise(() => {}); }"  # fmt: skip
    server.answers["/"] = http()

    with fetching.agent(source) as agent, pytest.raises(GeneFailed, match="never answered"):
        agent.run({"url": f"{server.url}/"})


def test_memory_calls_stand_beside_requests(fetching, server):
    """The blocking channel and the other one do not get in each other's way."""
    source = """
export async function express({ url }, { memory, gatewayFetch }) {
  const all = [...Array(10).keys()].map(async (n) => {
    memory.writeMemory(`before/${n}`, new Uint8Array(10), 'CACHE');
    const { body } = await gatewayFetch(url, { body: 'x'.repeat(200_000) });
    memory.writeMemory(`after/${n}`, new TextEncoder().encode(body), 'CACHE');
  });
  await Promise.all(all);
  return memory.queryMemory().length;
}
"""
    server.answers["/"] = http(b"y" * 300_000)

    with fetching.agent(source) as agent:
        assert 20 == agent.run({"url": f"{server.url}/"}).output
    assert {200_000} == {len(body) for *_, body in server.seen}


def test_many_large_requests(fetching, server):
    """More than may wait at once: they are read as there is room, and all are answered."""
    source = """
export async function express({ url }, { gatewayFetch }) {
  const body = new Uint8Array(8 << 20);
  const all = [...Array(14).keys()].map(() => gatewayFetch(url, { body }));
  return (await Promise.all(all)).map((answer) => answer.body);
}
"""
    server.answers["/"] = http(b"in")

    with fetching.agent(source) as agent:
        assert ["in"] * 14 == agent.run({"url": f"{server.url}/"}).output


def test_a_request_that_is_too_large(fetching, server):
    """Over 16 MiB: NETWORK_ERROR in the shim, and the next one works."""
    source = """
export async function express({ url }, { gatewayFetch }) {
  const code = await gatewayFetch(url, { body: new Uint8Array(17 << 20) }).catch((e) => e.code);
  return [code, (await gatewayFetch(url)).body];
}
"""
    server.answers["/"] = http(b"in")

    with fetching.agent(source) as agent:
        assert ["NETWORK_ERROR", "in"] == agent.run({"url": f"{server.url}/"}).output


FORGES = """
import { writeSync } from 'node:fs';
export async function express({ hex }, { gatewayFetch }) {
  const waiting = gatewayFetch('http://example.org/x').catch((error) => error.code);
  writeSync(4, Buffer.from(hex, 'hex'));
  return [await waiting, await gatewayFetch('http://example.org/x').catch((error) => error.code)];
}
"""


@pytest.mark.parametrize("frame", [b"\xff\xff\xff\xff", b"\0\0\0\2{}", b"\0\0\0\3\xff\xff\xff", (b"\0\0\0\7" + b'{"id":1')])  # fmt: skip
def test_forged_frames_close_the_channel(fetching, frame):
    """What is not the protocol ends the gene's gateway, and nothing else."""
    with fetching.agent(FORGES) as agent:
        assert "NETWORK_ERROR" == agent.run({"hex": frame.hex()}, time_limit=10).output[1]


def test_nothing_is_left_behind(fetching, server):
    """After every kind of end: the same descriptors and the same threads."""
    server.answers.update({"/": silent, "/ok": http(b"ok"), "/endless": endless})

    def cycle():
        for how, limit in (("done", 60), ("throw", 60), ("hang", 0.5)):
            with fetching.agent(ABANDONS) as agent, suppress(GeneFailed, RunTimedOut):
                agent.run({"url": f"{server.url}/", "how": how}, time_limit=limit)
        with fetching.agent() as agent:
            agent.run({"requests": [[f"{server.url}/{path}", {}] for path in ("ok", "endless")]})

    cycle()
    for thread in server.threads:
        thread.join(5)
    with given_back():
        for _ in range(3):
            cycle()


def test_run_and_test_have_the_gateway_too(fetching, server, bench):
    """A Hybrid gene reaches the network by the same rules without an agent, and in its test."""
    source = """
export async function express(x, ctx) {
  const { body } = await ctx.gatewayFetch('URL');
  return { body, blocked: await ctx.gatewayFetch('http://example.org/').catch((e) => e.code) };
}
""".replace("URL", server.url + "/")
    server.answers["/"] = http(b"in")
    with fetching.agent(source):
        pass

    ran = subprocess.run(
        [*ROTIFER, "run", "g", "--json"], cwd=bench.root, capture_output=True, text=True, check=True
    )
    tested = subprocess.run(
        [*ROTIFER, "test", "g"], cwd=bench.root, capture_output=True, text=True, check=False
    )

    assert {"body": "in", "blocked": "DOMAIN_BLOCKED"} == json.loads(ran.stdout)["output"]
    assert (0, "") == (tested.returncode, tested.stderr), tested


def test_verbose_tells_what_was_asked(fetching, server, bench):
    """--verbose has requests, bytes and failures of each Hybrid gene; --json has them too."""
    server.answers["/"] = http(b"abc")
    requests = {"requests": [[f"{server.url}/", {}], ["http://example.org/", {}]]}
    with fetching.agent():
        pass

    done = subprocess.run(
        [*ROTIFER, "agent", "run", "keeper", "--verbose", "--json", "--input", json.dumps(requests)],
        cwd=bench.root, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "g: network requests: 2; 3 bytes received, 1 DOMAIN_BLOCKED" in done.stderr
    assert {"requests": 2, "receivedBytes": 3, "failed": {"DOMAIN_BLOCKED": 1}} == json.loads(done.stdout)["steps"][0]["network"]  # fmt: skip
