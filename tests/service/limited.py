"""A service whose limits are such that a test can reach them; run as a process of its own."""

from __future__ import annotations

import os
import sys

from rotifer_bridge import Project, _service_body
from rotifer_bridge._service_app import make_app
from rotifer_bridge._service_log import Log
from rotifer_bridge._service_protocol import Limits
from rotifer_bridge._service_server import address_of, open_socket, serve
from rotifer_bridge._service_state import State
from rotifer_bridge._tokens import TokenFile


def main(head, take, body, connections):
    """Serve the project of the working folder, as `rotifer serve` does."""
    _service_body.BODY_SECONDS = body
    project = Project.find()
    state = State(project, TokenFile(os.path.join(project.state_dir, "tokens.json")))
    log = Log(lambda line: print(line, file=sys.stderr, flush=True))
    listener = open_socket("127.0.0.1", 0)
    limits = Limits(connections=connections, head_seconds=head, take_seconds=take)
    code = serve(
        make_app(state, log, loopback=True),
        state,
        listener,
        log,
        limits=limits,
        on_started=lambda: print(f"listening on {address_of(listener)}", flush=True),
    )
    sys.stdout.flush()
    os._exit(code)
