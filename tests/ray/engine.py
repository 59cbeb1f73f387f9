"""A Ray Serve application that speaks as vLLM's server does, and keeps to the schema of a person: an engine that is as
quick as a test wants it."""

import asyncio
import json

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from ray import serve

SAID = '{"name": "Ada", "age": 36}'
# A token, so that requests are on their way when a replica is killed.
EACH = 0.02
api = FastAPI()


@serve.deployment(max_ongoing_requests=16)
@serve.ingress(api)
class Engine:
    @api.get("/v1/models")
    def models(self) -> dict:
        return {"object": "list", "data": [{"id": "engine", "object": "model", "owned_by": "vllm"}]}

    @api.get("/version")
    def version(self) -> dict:
        return {"version": "0.11.0"}

    @api.post("/v1/chat/completions")
    async def chat(self, body: dict):
        head = {"id": "c", "created": 1, "model": "engine"}
        pieces = [SAID[at : at + 4] for at in range(0, len(SAID), 4)]
        if not body.get("structured_outputs") and not body.get("response_format"):
            pieces = ["nobody", " asked"]
        if not body.get("stream"):
            await asyncio.sleep(EACH * len(pieces))
            message = {"role": "assistant", "content": "".join(pieces)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return {**head, "object": "chat.completion", "choices": [choice]}

        async def events():
            for number, piece in enumerate([*pieces, None]):
                delta = {"content": piece} if piece else {}
                choice = {"index": 0, "delta": delta, "finish_reason": None if piece else "stop"}
                yield f"data: {json.dumps({**head, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
                if number < len(pieces):
                    await asyncio.sleep(EACH)
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")
