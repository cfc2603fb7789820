"""The yardstick: a bare FastAPI endpoint that validates a write's body and gives it back."""

from __future__ import annotations

import asyncio
import socket
from typing import Literal

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field


class Policy(BaseModel):
    """As the memory has it."""

    model_config = ConfigDict(extra="forbid")
    readScope: str  # noqa: N815 - the field's name on the wire
    writeScope: str  # noqa: N815
    sharePolicy: str  # noqa: N815


class Write(BaseModel):
    """The body of a write."""

    model_config = ConfigDict(extra="forbid")
    key: str = Field(min_length=1, max_length=1_024)
    value: str = Field(max_length=1_398_104)
    category: Literal["PREFERENCE", "PATTERN", "CONTEXT", "CACHE"]
    accessPolicy: Policy | None = None  # noqa: N815


app = FastAPI()


@app.post("/write")
async def write(body: Write) -> Write:
    """Give back what was validated."""
    return body


def main() -> None:
    """Listen on a free port, print it, serve until a signal comes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, http="h11", loop="asyncio", log_level="error", access_log=False)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
