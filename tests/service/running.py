"""A service that runs in a process of its own, and what a client asks of it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

RUN = [sys.executable, "-m", "rotifer_bridge", "serve"]


class Answer(NamedTuple):
    """What came back: status, the JSON of the body, the headers in lower case."""

    status: int
    value: object
    headers: dict[str, str]

    @property
    def code(self):
        """The code of an error."""
        return self.value["error"]["code"]

    @property
    def message(self):
        """Its message."""
        return self.value["error"]["message"]


class Running:
    """One service, until `stop`."""

    def __init__(self, folder, *words, command=RUN, env=None, **settings):
        self.log_path = os.path.join(folder, "service.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*command, *words],
                cwd=folder,
                env={**os.environ, **(env or {})},
                stdout=subprocess.PIPE,
                stderr=log,
                **settings,
            )
        self.line = self.process.stdout.readline().decode()
        assert self.line.startswith("listening on http://"), self.log()
        self.url = self.line.split()[-1]
        self.host, self.port = urlsplit(self.url).hostname, urlsplit(self.url).port

    def log(self):
        """What it has logged so far."""
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def ask(self, method, path, body=None, token=None, *, headers=(), timeout=60):
        """Send one request on a connection of its own; bytes are sent as they are."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        sent = dict(headers)
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, sent)
            got = connection.getresponse()
            text = got.read()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in got.getheaders()}
        return Answer(got.status, json.loads(text) if text else None, found)

    def stop(self, signal=15):
        """End it with a signal; its exit code, and what was on stdout after the first line."""
        self.process.send_signal(signal)
        rest, _ = self.process.communicate(timeout=30)
        return self.process.returncode, rest.decode()

    def close(self):
        """See that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
