"""The service's life: how it starts, what it says, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from tests.service.running import RUN

SLOW = {"input": {"sleep": 700}}


def in_background(service, *request):
    """Send a request from a thread; the thread, and where its answer will be."""
    answers = []

    def send():
        try:
            answers.append(service.ask(*request))
        except OSError as error:
            answers.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    return thread, answers


def until(condition, seconds=20):
    """Wait for something to be so, looking often; fail when it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to be so"
        time.sleep(0.01)


def run_under_way(service, cell, body=SLOW):
    """Start a run, and wait until its gene has begun."""
    request = ("POST", "/agents/keeper/run", body, cell.deployer)
    thread, answers = in_background(service, *request)
    begun = ("POST", "/agents/keeper/memory/read", {"key": "begun"}, cell.notes)
    until(lambda: service.ask(*begun).value)
    return thread, answers


def test_one_line_on_stdout(cell):
    """`listening on ...` once it accepts, and nothing after it; exit code 0."""
    service = cell.serve()

    assert f"listening on http://127.0.0.1:{service.port}\n" == service.line
    assert 200 == service.ask("GET", "/healthz").status
    assert (0, "") == service.stop(signal.SIGTERM)


def test_requests_under_way_come_to_their_end(cell):
    """SIGTERM: what was asked before it is answered; nothing new is let in; exit 0 within 5 s."""
    service = cell.serve()
    thread, answers = run_under_way(service, cell)
    started = time.monotonic()
    code, _ = service.stop(signal.SIGTERM)
    took = time.monotonic() - started
    thread.join()

    assert 0 == code
    assert took < 5
    assert 200 == answers[0].status
    with pytest.raises(OSError, match="refused"):
        service.ask("GET", "/healthz")


def test_a_run_that_does_not_end_is_ended(cell):
    """A gene that is busy for ever gets 503 STOPPING; exit 0 within 5 s, no process left."""
    service = cell.serve()
    thread, answers = run_under_way(service, cell, {"input": {"sleep": 60_000}})
    started = time.monotonic()
    code, _ = service.stop(signal.SIGTERM)
    took = time.monotonic() - started
    thread.join()

    assert 0 == code
    assert took < 5
    assert (503, "STOPPING") == (answers[0].status, answers[0].code)


def test_ctrl_c_is_130(cell):
    """As for every command."""
    assert 130 == cell.serve().stop(signal.SIGINT)[0]


def test_a_second_signal_ends_at_once(cell):
    """Whatever is under way; the agents' processes end too."""
    service = cell.serve()
    thread, answers = run_under_way(service, cell, {"input": {"sleep": 60_000}})
    service.process.send_signal(signal.SIGTERM)
    until(lambda: "SIGTERM: stopping" in service.log())
    started = time.monotonic()
    code, _ = service.stop(signal.SIGTERM)
    took = time.monotonic() - started
    thread.join()

    assert 143 == code
    assert took < 3  # the first signal alone would take 3 s for a run
    assert isinstance(answers[0], OSError)


def test_an_idle_connection_does_not_hold_up_the_end(cell):
    """Neither one that never asked, nor one between two requests."""
    service = cell.serve()
    with (
        socket.create_connection((service.host, service.port)),
        socket.create_connection((service.host, service.port)) as kept,
    ):
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(4_096).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        code, _ = service.stop(signal.SIGTERM)

    assert 0 == code
    assert time.monotonic() - started < 4  # it is not the grace that requests have


def serve_and_fail(cell, *words, env=None, command=RUN):
    """A service that does not start: exit code, stdout, stderr."""
    done = subprocess.run(
        [*command, *words],
        cwd=cell.bench.root,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_port_in_use(cell):
    """An error that names the port and what to do, exit code 1, nothing on stdout."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = serve_and_fail(cell, "--port", str(port))

    assert (1, "") == (code, out)
    assert f"error: port {port} of 127.0.0.1 is in use" in err
    assert "help: " in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "no.such.host.invalid"], "cannot be resolved"),
        (["--host", "192.0.2.1"], "'192.0.2.1' is no address of this machine"),
        (["--port", "65536"], "65536"),
        (["--token-file", "no/such/t.json"], "there is no folder"),
    ],
)
def test_what_cannot_be_served(cell, words, said):
    """A message and exit code 1."""
    code, out, err = serve_and_fail(cell, *words)

    assert (1, "") == (code, out)
    assert said in err


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_a_missing_extra_is_said(cell, package):
    """What is missing, and the line that installs it."""
    script = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv[1:] = ['serve']; "
        "from rotifer_bridge.__main__ import main; main()"
    )
    code, out, err = serve_and_fail(cell, command=[sys.executable, "-c", script])

    assert (1, "") == (code, out)
    assert f"needs the package {package}" in err
    assert "pip install 'rotifer-bridge[server]'" in err


def test_other_machines_are_warned_of(cell):
    """A host that is not the loopback is served, with a warning, under any name."""
    service = cell.serve("--host", "0.0.0.0")

    assert "0.0.0.0" in service.line
    assert "is not the loopback" in service.log()
    assert 200 == service.ask("GET", "/healthz", headers={"Host": "my.machine"}).status


def test_ipv6(cell):
    """The loopback of IPv6 is one, too."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return  # this machine has none
    service = cell.serve("--host", "::1")

    assert service.line.startswith("listening on http://[::1]:")
    assert "not the loopback" not in service.log()
    assert 200 == service.ask("GET", "/healthz").status


def test_without_tokens_nobody_is_let_in(cell):
    """The service starts, and says that there are none."""
    os.unlink(cell.tokens.path)
    service = cell.serve()

    assert "there are no tokens in " in service.log()
    assert 401 == service.ask("GET", "/agents", token=cell.deployer).status


def test_another_tokens_file(cell, tmp_path):
    """Only the tokens in it count."""
    path = str(tmp_path / "mine.json")
    os.rename(cell.tokens.path, path)
    service = cell.serve("--token-file", path)

    assert 200 == service.ask("GET", "/agents", token=cell.deployer).status
    assert not os.path.exists(cell.tokens.path)


def test_the_log_has_nothing_personal(cell):
    """With --verbose each request is a line: no token, key, value, actor, agent or address."""
    service = cell.serve("--verbose")
    service.ask("POST", "/agents/keeper/memory/write", {"key": "a-key", "value": "c2VjcmV0", "category": "CACHE"}, cell.notes)  # fmt: skip
    service.ask("GET", "/memory?actor=alice&session=a-session", token=cell.alice)
    service.ask("GET", "/memory?actor=mallory", token=cell.alice)
    service.ask("GET", "/agents/a-name/memory", token="rtk_" + "0" * 12 + "_" + "B" * 43)
    service.stop()
    log = service.log()

    assert "POST /agents/{agent}/memory/write 200" in log
    assert "GET /memory 403" in log
    assert "GET /agents/{agent}/memory 401" in log
    for word in ("a-key", "c2VjcmV0", "alice", "mallory", "a-session", "a-name", "keeper", "rtk_", "127.0.0.1"):  # fmt: skip
        assert word not in log


def test_nothing_else_imports_the_server(cell):
    """No other command pays for FastAPI and uvicorn."""
    script = (
        "import sys; from rotifer_bridge._cli import run; run(['agent', 'list']); "
        "run(['token', 'list']); sys.exit(bool({'fastapi', 'uvicorn', 'starlette'} & set(sys.modules)))"
    )

    assert 0 == serve_and_fail(cell, command=[sys.executable, "-c", script])[0]
