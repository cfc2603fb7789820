"""Many clients at once: no error, and no acknowledged write is lost."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter

import pytest
from tests.service.test_memory import b64

CLIENTS = 64


class Client(threading.Thread):
    """Writes, reads back, and counts, on one connection, until the time is over."""

    def __init__(self, cell, service, number, end):
        super().__init__()
        self.number, self.end = number, end
        self.token, self.alice = cell.notes, cell.alice
        self.connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
        self.statuses = Counter()
        self.written = {}
        self.noted = []
        self.wrong = []

    def ask(self, path, body, token):
        """One request; its answer."""
        headers = {"Authorization": f"Bearer {token}"}
        self.connection.request("POST", path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        value = json.loads(answer.read())
        self.statuses[answer.status] += 1
        return value

    def run(self):
        """Go on until the time is over."""
        count = 0
        while time.monotonic() < self.end:
            key, value = f"{self.number}/{count % 20}", b64(f"{self.number} {count}".encode())
            entry = self.ask("/agents/keeper/memory/write", {"key": key, "value": value, "category": "PATTERN"}, self.token)  # fmt: skip
            self.written[key] = entry.get("value")
            back = self.ask("/agents/keeper/memory/read", {"key": key}, self.token)
            if (entry.get("value"), back.get("value")) != (value, value):
                self.wrong.append((key, entry, back))
            if count % 10 == 0:
                content = f"{self.number} {count}"
                self.ask("/memory", {"layer": "about_me", "content": content, "actor": "alice"}, self.alice)  # fmt: skip
                self.noted.append(content)
            count += 1
        self.connection.close()


def bombard(cell, seconds):
    """Let all clients go at it; they, and a count of every status."""
    service = cell.serve()
    end = time.monotonic() + seconds
    clients = [Client(cell, service, number, end) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    statuses = sum((client.statuses for client in clients), Counter())
    return service, clients, statuses


def nothing_is_lost(cell, seconds):
    """After the clients and after a restart everything that was acknowledged is there."""
    service, clients, statuses = bombard(cell, seconds)
    assert {200, 201} == set(statuses)
    assert [] == [fault for client in clients for fault in client.wrong]
    assert "error" not in service.log()
    assert (0, "") == service.stop()
    again = cell.serve()
    written = {key: value for client in clients for key, value in client.written.items()}
    found = {}
    for client in clients:
        query = {"keyPrefix": f"{client.number}/", "limit": 1_000}
        for entry in again.ask("POST", "/agents/keeper/memory/query", query, cell.notes).value:
            found[entry["key"]] = entry["value"]
    noted = [content for client in clients for content in client.noted]
    counts = again.ask("GET", "/memory/counts?actor=alice", token=cell.alice).value
    usage = again.ask("GET", "/agents/keeper/memory", token=cell.deployer).value["usageBytes"]
    project = cell.bench.project()
    report = project.memory(project.record("keeper")).check()
    project.close()

    assert written == found
    assert len(noted) == counts["about_me"]
    assert usage > 0
    assert [] == report.findings
    return statuses


def test_sixty_four_clients(cell):
    """For two seconds: every answer a success, every acknowledged write there afterwards."""
    assert CLIENTS < nothing_is_lost(cell, 2).total()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_sixty_four_clients_for_half_a_minute(cell):
    """The same for 30 seconds."""
    statuses = nothing_is_lost(cell, 30)

    print(dict(statuses))
    assert 1_000 < statuses.total()
