"""HTTP requests in; recorded, handed to a scripted server, and its replies written out.

Nothing here knows a dialect. Streams go out chunked, one event a chunk, each cut in two on the
wire at an awkward place (inside a character where it has a multi-byte one), and can be torn off.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Recorded:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: Any = None
    client_left: bool = False


@dataclass
class Response:
    """A whole reply."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    torn: bool = False  # The connection breaks in the middle of the body.


@dataclass
class Stream:
    """A streamed reply: the events' data, and whether the connection breaks in the middle."""

    events: Iterable[str]
    content_type: str = "text/event-stream; charset=utf-8"
    torn_after: int | None = None
    frame: str = "data: {}\n\n"  # How an event's data stands on the wire.


def as_json(status: int, value: Any, **headers: str) -> Response:
    """A JSON reply as the servers write it: no spaces, characters as they are."""
    return Response(status, compact(value).encode(), headers=headers)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class HttpServer:
    """A server on a free port of 127.0.0.1 that answers with `handle`."""

    def __init__(self, name: str, handle: Callable[[Recorded], Response | Stream]) -> None:
        server_header = name

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def version_string(self) -> str:
                return server_header

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                request = Recorded(
                    self.command,
                    self.path.partition("?")[0],
                    {key.lower(): value for key, value in self.headers.items()},
                    raw,
                )
                reply = handle(request)
                try:
                    if isinstance(reply, Stream):
                        self.stream(reply)
                    else:
                        self.whole(reply)
                except (BrokenPipeError, ConnectionResetError):
                    request.client_left = True
                    self.close_connection = True

            do_GET = do_POST = do_HEAD = do_OPTIONS = answer

            def whole(self, reply: Response) -> None:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                for key, value in reply.headers.items():
                    self.send_header(key.replace("_", "-"), value)
                self.end_headers()
                if reply.torn:
                    self.wfile.write(reply.body[: len(reply.body) // 2])
                    self.tear()
                else:
                    self.wfile.write(reply.body)

            def stream(self, reply: Stream) -> None:
                self.send_response(200)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for number, event in enumerate(reply.events):
                    data = reply.frame.replace("{}", event).encode()
                    if reply.torn_after is not None and number >= reply.torn_after:
                        self.wfile.write(b"%x\r\n" % len(data) + data[: len(data) // 2])
                        self.tear()
                        return
                    at = awkward(data)
                    self.wfile.write(b"%x\r\n" % at + data[:at] + b"\r\n")
                    self.wfile.flush()
                    self.wfile.write(b"%x\r\n" % (len(data) - at) + data[at:] + b"\r\n")
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def tear(self) -> None:
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # A client that goes away is part of the tests.

        self.http = Server(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def awkward(data: bytes) -> int:
    """Where to cut an event: in a character, or an escape, or else in the middle."""
    for at, byte in enumerate(data):
        if byte >= 0xC0:
            return at + 1
    escape = data.find(b"\\")
    return escape + 1 if escape >= 0 else len(data) // 2
