"""Calls that are carried out together: the fault of one is not another's."""

from __future__ import annotations

import asyncio
import threading

import httpx

from rotifer_bridge import _service_app
from rotifer_bridge._service_calls import CALLS
from rotifer_bridge._service_log import Log
from rotifer_bridge._service_state import State

WRITE = next(call for call in CALLS if call.name == "saveToLayer")
OTHERS = [str(number) for number in range(5)]


def alone(_, asked):
    """What the call gives: its body; for some bodies a fault that nobody foresaw."""
    if asked.body == b"fault":
        raise RuntimeError("a secret")
    return {"nan": float("nan")} if asked.body == b"nan" else asked.body.decode()


def test_one_s_fault_is_not_another_s(cell, monkeypatch):
    """Each gets its own answer, what no JSON can say is one's own fault too, and work goes on."""
    gate = threading.Event()
    sizes = []

    def together(state, asked):
        gate.wait(20)
        sizes.append(len(asked))
        return [alone(state, one) for one in asked]

    call = WRITE._replace(answer=alone, together=together)
    monkeypatch.setattr(_service_app, "CALLS", (call,))
    lines = []
    state = State(cell.bench.project(), cell.tokens)
    app = _service_app.make_app(state, Log(lines.append), loopback=True)

    async def ask():
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {cell.alice}"},
        )
        async with client:
            bodies = ["first", *OTHERS, "fault", "nan"]
            tasks = [asyncio.ensure_future(client.post("/memory", content=b)) for b in bodies]
            for _ in range(1_000):  # nothing else is awaited: all of them come as far as the gate
                await asyncio.sleep(0)
            gate.set()
            answers = dict(zip(bodies, await asyncio.gather(*tasks), strict=True))
            return answers, await client.post("/memory", content="after")

    answers, after = asyncio.run(ask())
    state.close()

    assert max(sizes) > 1
    assert {201} == {answers[body].status_code for body in ("first", *OTHERS)}
    assert OTHERS == [answers[body].json() for body in OTHERS]
    assert [500, 500] == [answers[body].status_code for body in ("fault", "nan")]
    assert 201 == after.status_code
    assert 3 == sum("failed inside: " in line for line in lines)
    assert "secret" not in "".join(lines)
