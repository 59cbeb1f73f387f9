"""Traffic that shows everything a dashboard has a panel for: PydanticAI, the OpenAI client, and trouble."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput

from conftest import Proxy
from helpers import PARIS, City, chat_model, sdk
from model import Turn
from scripted import ScriptedServer

QUESTION = [{"role": "user", "content": "Where is the Eiffel tower?"}]


class Weather(BaseModel):
    city: str = Field(max_length=8)
    sunny: bool


def answer(server: ScriptedServer) -> None:
    """From now on the model says what these questions ask for."""
    server.reset(Turn(values=PARIS, calls=("final_result",)))


@contextlib.contextmanager
def flowing(proxy: Proxy, server: ScriptedServer, worker: Proxy | None) -> Iterator[None]:
    """Traffic in the background while the block runs; what goes wrong by design is swallowed."""
    over = threading.Event()
    lanes = [(agents, proxy, server), (trouble, proxy, server)]
    lanes += [(generation, worker, None)] * 3 if worker else []

    def lane(step: Any, proxy: Proxy, server: Any) -> None:
        while not over.is_set():
            with contextlib.suppress(Exception):
                step(proxy, server)
            time.sleep(0.02)

    threads = [threading.Thread(target=lane, args=found, daemon=True) for found in lanes]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join(30)


def client(proxy: Proxy) -> Any:
    return SimpleNamespace(base_url=proxy.base_url, model=proxy.model)


def agents(proxy: Proxy, server: ScriptedServer) -> None:
    """PydanticAI as people use it: tool output, native output, text, streamed and not."""
    model = chat_model(client(proxy))
    assert Agent(model, output_type=City).run_sync("Where?").output == City(**PARIS)
    assert Agent(model, output_type=NativeOutput(City)).run_sync("Where?").output == City(**PARIS)
    Agent(model).run_sync("Hello?")

    async def streamed() -> None:
        async with Agent(model, output_type=City).run_stream("Where?") as result:
            await result.get_output()

    asyncio.run(streamed())


def trouble(proxy: Proxy, server: ScriptedServer) -> None:
    """What goes wrong in a day, in a second."""
    openai = sdk(client(proxy))
    # One that nobody compiled before, with a keyword that the server refuses.
    properties = {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}
    title = f"title {random.random()}"
    schema = {"name": "n", "schema": {**City.model_json_schema(), "title": title}}
    lossy = {"name": "n", "schema": {"type": "object", "properties": properties, "title": title}}
    with contextlib.suppress(Exception):
        form = {"type": "json_schema", "json_schema": lossy}
        openai.chat.completions.create(model=proxy.model, messages=QUESTION, response_format=form)
    for fault in ("wrong", "unavailable", "cut"):
        server.fail(fault)
        with contextlib.suppress(Exception):
            form = {"type": "json_schema", "json_schema": schema}
            openai.chat.completions.create(model=proxy.model, messages=QUESTION, response_format=form)
    # A body over the limit, and clients that go away.
    with contextlib.suppress(Exception):
        httpx.post(f"{proxy.base_url}/chat/completions", json={"messages": "x" * 100_000})
    host, _, port = proxy.base_url.removeprefix("http://").removesuffix("/v1").partition(":")
    body = b'{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "stream": true}'
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as gone:
        gone.sendall(head.encode() + body)
    # A constraint of every kind is compiled.
    for more in ({"regex": "[a-z]{3}"}, {"choice": ["a", "b"]}, {"grammar": 'root ::= "x"'}):
        with contextlib.suppress(Exception):
            openai.chat.completions.create(
                model=proxy.model, messages=QUESTION, extra_body={"structured_outputs": more}
            )


def generation(proxy: Proxy, _server: None) -> None:
    """The bundled worker under constraints."""
    openai = sdk(client(proxy))
    form = {"type": "json_schema", "json_schema": {"name": "w", "schema": Weather.model_json_schema()}}
    openai.chat.completions.create(
        model=proxy.model, messages=QUESTION, response_format=form, max_tokens=40, stream=random.random() < 0.5
    )
