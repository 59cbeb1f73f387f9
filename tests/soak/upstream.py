"""A server of vLLM's dialect that repeats the number it is asked with, as JSON in `content`: whole, or in some hundred
events. Port in; serves until it is killed."""

import asyncio
import json
import re
import sys

PAUSE = 0.005


def answer(body):
    text = body["messages"][-1]["content"]
    number = int(re.search(r"#(\d+)", text)[1])
    return json.dumps({"n": number, "words": [f"w{number + i}" for i in range(60)]})


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(value)}\n\n".encode()


async def chat(writer, body):
    text = answer(body)
    if not body.get("stream"):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole(writer, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        return
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    pieces = [text[at : at + 8] for at in range(0, len(text), 8)]
    events = [chunk({"content": piece}) for piece in pieces] + [chunk({}, "stop"), b"data: [DONE]\n\n"]
    for event in events:
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(PAUSE)
    writer.write(b"0\r\n\r\n")


def whole(writer, value):
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            raw = await reader.readexactly(int(length[1])) if length else b""
            if head.startswith("post /v1/chat"):
                await chat(writer, json.loads(raw))
            else:
                whole(writer, {"object": "list", "data": [{"id": "m", "object": "model"}]})
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
