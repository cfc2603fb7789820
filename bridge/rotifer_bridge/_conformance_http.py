"""The door of other programs: the real service on the loopback, with tokens (layers §6)."""

from __future__ import annotations

import binascii
import contextlib
import http.client
import json
import os
import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rotifer_bridge._conformance_genes import make_project
from rotifer_bridge._project import Project
from rotifer_bridge._record import new_record, save_record
from rotifer_bridge._service_app import make_app
from rotifer_bridge._service_log import Log
from rotifer_bridge._service_protocol import Limits
from rotifer_bridge._service_server import make_server, open_socket
from rotifer_bridge._service_state import State
from rotifer_bridge._tokens import TOKENS_NAME, TokenFile
from rotifer_engine import ERROR_CODES, Caller
from rotifer_engine.conformance import (
    DOMAINS,
    NOBODY,
    ask_layers,
    deploy,
    instant,
    with_actors,
)
from rotifer_engine.layers import LAYER_ERROR_STATUS, LAYER_ERRORS, agent_of

if TYPE_CHECKING:
    from rotifer_bridge._record import AgentRecord
    from rotifer_engine import AgentMemory
    from rotifer_engine.conformance import Part, Stage, Step
    from rotifer_engine.layers import Layers

__all__ = ["HttpDoor"]

_SECONDS = 60


class HttpDoor:
    """The service in a thread; a token for each role and agent, as its case needs them.

    Args:
        folder: an empty folder for the project.
    """

    name = "http"

    def __init__(self, folder: str) -> None:
        make_project(folder)
        self._folder = folder
        self._service: _Service | None = None

    def callers(self) -> Mapping[str, Caller]:
        """Who the tokens are bound to."""
        return {
            role: Caller(f"v2:{sha256(role.encode()).hexdigest()}", domain)
            for role, domain in DOMAINS.items()
            if role != NOBODY
        }

    def prepare(self, stage: Stage) -> None:
        """Write the records of the two agents, and forget those that were before."""
        if self._service is None:
            self._service = _Service(self._folder, stage)
        self._service.admit(stage.parts)

    def ask(self, stage: Stage, part: Part, role: str, steps: Sequence[Step]) -> list[Any]:  # noqa: ARG002 - a door's signature
        """Send a request for each call."""
        assert self._service is not None, "it is prepared before anything is asked"
        token = self._service.token(part, self.callers()[role])
        answers = []
        for step in steps:
            request = dict(step.request)
            if isinstance(request.get("value"), bytes):
                value = binascii.b2a_base64(request["value"], newline=False)
                request["value"] = value.decode("ascii")
            path = f"/agents/{_name(part)}/memory/{step.call}"
            answer = self._service.send("POST", path, token, request)
            if step.call == "delete" and answer == {"deleted": 1}:
                answer = None
            answers.append(answer)
        return answers

    def deploy(self, stage: Stage, part: Part, step: Step) -> Any:
        """List and delete with the deployer's token; what HTTP does not offer through Python."""
        assert self._service is not None, "it is prepared before anything is asked"
        if step.call not in {"list", "delete"}:
            return deploy(stage, part, step)
        token = self._service.token(part, None)
        path = f"/agents/{_name(part)}/memory"
        if step.request:
            path += f"?{urlencode(step.request)}"
        answer = self._service.send("GET" if step.call == "list" else "DELETE", path, token)
        if "error" in answer:
            return answer
        return answer["entries"] if step.call == "list" else answer["deleted"]

    def ask_layers(self, stage: Stage, step: Step) -> Any:
        """With a token of the actor that is named, else the administrator's.

        What the runtime writes by itself HTTP does not offer: through Python.
        """
        assert self._service is not None, "it is prepared before anything is asked"
        if step.call in {"save_runtime", "refresh"}:
            return ask_layers(stage, step)
        request = with_actors(stage, step)
        inside = request.pop("agent", None)
        if step.call in {"save", "clear"}:  # who writes in an agent's room works there
            inside = agent_of(request.get("namespace") or "") or None
        token = self._service.reader(request.get("actor"), inside)
        if step.call == "save":
            return self._service.send("POST", "/memory", token, request)
        path = {"list": "/memory", "counts": "/memory/counts", "clear": "/memory/layer"}[step.call]
        method = "DELETE" if step.call == "clear" else "GET"
        if request:
            path += f"?{urlencode(request)}"
        answer = self._service.send(method, path, token)
        return answer["deleted"] if step.call == "clear" and "deleted" in answer else answer

    def close(self) -> None:
        """End the service."""
        if self._service is not None:
            self._service.close()


def _name(part: Part) -> str:
    return f"agent-{part.number}"


class _StageProject(Project):
    """A project whose memories are the stage's: its store, its records, its clock."""

    def __init__(self, root: str, stage: Stage) -> None:
        super().__init__(root)
        self._stage = stage

    def layers(self) -> Layers:
        return self._stage.layers()

    def memory(self, record: AgentRecord) -> AgentMemory:
        return self._stage.memory_of(
            record.id, quota_bytes=record.memory_quota_bytes, data_policy=record.data_policy
        )


class _Service:
    """The service, and a connection to it that is kept."""

    def __init__(self, folder: str, stage: Stage) -> None:
        self._project = _StageProject(folder, stage)
        self._tokens_path = os.path.join(self._project.state_dir, TOKENS_NAME)
        self._tokens = TokenFile(self._tokens_path)
        self._texts: dict[tuple[str | None, ...], str] = {}
        self._known: list[str] = []
        log = Log(lambda _: None)
        self._state = State(self._project, TokenFile(self._tokens_path), clock=stage.clock)
        self._listener = open_socket("127.0.0.1", 0)
        self._server = make_server(
            make_app(self._state, log, loopback=True), Limits(), log, on_started=lambda: None
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, name="rotifer-serve"
        )
        self._thread.start()
        host, port = self._listener.getsockname()[:2]
        self._connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)

    def admit(self, parts: Sequence[Part]) -> None:
        """Write the agents' records; where they are new, those of the last case go."""
        ids = [part.agent_id for part in parts]
        if ids != self._known:
            for agent_id in self._known:
                os.unlink(os.path.join(self._project.agents_dir, f"{agent_id}.json"))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._tokens_path)
            self._texts.clear()
            self._known = ids
        for part in parts:
            record = new_record(
                part.agent_id,
                _name(part),
                [],
                {"type": "Single"},
                strategy="manual",
                created_at=instant(),
                memory_quota_bytes=part.quota_bytes,
            )
            record["dataPolicy"] = part.data_policy.to_json()
            save_record(self._project.agents_dir, record)

    def token(self, part: Part, caller: Caller | None) -> str:
        """A gene's token for an agent, made when it is first needed; None: the deployer's."""
        if caller is None:
            return self._made("deployer", {})
        return self._made(
            "gene",
            {
                "gene": caller.gene_id,
                "agentId": part.agent_id,
                "agent": _name(part),
                "domain": caller.domain,
            },
        )

    def reader(self, actor: str | None, inside: str | None) -> str:
        """A token for the layers: an actor's, or the administrator's where none is named."""
        if not actor:
            return self._made("admin", {})
        return self._made("actor", {"actor": actor, "inside": inside})

    def _made(self, kind: str, bound: dict[str, str | None]) -> str:
        about = (kind, *bound.values())
        if about not in self._texts:
            _, text = self._tokens.create(kind, bound, now_ms=0, lifetime_ms=None)
            self._texts[about] = text
        return self._texts[about]

    def send(self, method: str, path: str, token: str, body: Any = None) -> Any:
        """The JSON of an answer; the status must be the one of its code."""
        headers = {"Authorization": f"Bearer {token}"}
        data = None
        if method == "POST":
            data = json.dumps(body).encode("ascii")
            headers["Content-Type"] = "application/json"
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        code = answer["error"]["code"] if isinstance(answer, dict) and "error" in answer else None
        wanted = response.status
        if code in ERROR_CODES:
            wanted = ERROR_CODES[code].http_status
        elif code in LAYER_ERRORS:
            wanted = LAYER_ERROR_STATUS
        if response.status != wanted or (code is None) != (response.status < 300):
            raise RuntimeError(f"{method} {path}: status {response.status} with {answer!r:.200}")
        return answer

    def close(self) -> None:
        self._connection.close()
        self._server.should_exit = True
        self._thread.join(_SECONDS)
        self._listener.close()
        self._state.close()
