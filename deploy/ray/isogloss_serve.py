"""Isogloss as a Ray Serve application: each replica runs the program on a free port of its node's loopback and forwards to
it, streams too; Ray Serve balances, scales on requests in flight, and replaces what died.

    cd deploy/ray && serve run isogloss_serve:app 'flags=--upstream http://vllm:8000'

Needs `ray[serve]`, and the program on every node: on the PATH, or where ISOGLOSS_BIN says. Without flags the model answers
that is in the program. Number of replicas and requests each: serve.yaml, which is for `serve deploy`."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import AsyncIterator

import aiohttp
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from yarl import URL

# Of one connection, and no business of the next one (RFC 9110, section 7.6.1); the host is the program's.
HOPS = {"connection", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
HELLO = re.compile(r"listening on (http://\S+), admin on (http://[^\s\"]+)")
# The program ends when its replica does, however that dies: then the pipe closes that the shell reads.
WITH_US = '"$@" & child=$!; cat >/dev/null; kill -TERM "$child"; wait "$child"'
STARTS_WITHIN = 120.0
# Longer than `drain` of the program.
ENDS_WITHIN = 620.0


class Program:
    """The running program."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, admin: str) -> None:
        self.process, self.url, self.admin = process, url, admin

    @classmethod
    async def start(cls, flags: list[str]) -> Program:
        binary = os.environ.get("ISOGLOSS_BIN") or shutil.which("isogloss")
        if not binary:
            raise RuntimeError("isogloss is not on this node's PATH: install it there, or set ISOGLOSS_BIN")
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *flags]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("/bin/sh", "-c", WITH_US, "sh", *command, stdin=pipe, stdout=pipe)
        assert process.stdout
        while line := (await process.stdout.readline()).decode():
            if found := HELLO.search(line):
                # What it says later is read, so that it never waits for room.
                asyncio.get_running_loop().create_task(process.stdout.read())
                return cls(process, *found.groups())
        raise RuntimeError("isogloss did not start; the replica's log says why")

    def leave(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    async def stop(self) -> None:
        self.leave()
        await asyncio.wait_for(self.process.wait(), ENDS_WITHIN)


@serve.deployment
class Isogloss:
    """One replica."""

    def __init__(self, flags: str = "") -> None:
        self.flags = shlex.split(flags)
        self.program: Program | None = None
        self.starting = asyncio.Lock()
        self.session: aiohttp.ClientSession | None = None

    async def ready(self, instead_of: Program | None = None) -> Program:
        """The program, started where it is not there, and anew where this one is gone."""
        async with self.starting:
            if self.program is not None and self.program is not instead_of:
                return self.program
            self.session = self.session or aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False, connector=aiohttp.TCPConnector(limit=0)
            )
            if self.program is not None:
                self.program.leave()
            started = await Program.start(self.flags)
            async with asyncio.timeout(STARTS_WITHIN):
                while not await self.answers(f"{started.admin}/readyz"):
                    await asyncio.sleep(0.1)
            self.program = started
            return started

    async def answers(self, url: str) -> bool:
        assert self.session
        try:
            async with self.session.get(url) as reply:
                return reply.status == 200
        except aiohttp.ClientError:
            return False

    async def check_health(self) -> None:
        """Asked by Ray Serve, which replaces a replica of which this fails."""
        program = await self.ready()
        if not await self.answers(f"{program.admin}/livez"):
            await self.ready(instead_of=program)

    async def __call__(self, request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        target = request.scope.get("raw_path", request.url.path.encode()).decode() + query
        headers = [(name, value) for name, value in request.headers.items() if name not in HOPS]
        body = await request.body()
        program = await self.ready()
        for attempt in range(2):
            assert self.session
            url = URL(program.url + target, encoded=True)
            try:
                reply = await self.session.request(request.method, url, headers=headers, data=body or None)
            except aiohttp.ClientConnectorError:
                # Nothing was sent: it is as if it had not come yet.
                if attempt == 0:
                    program = await self.ready(instead_of=program)
                continue
            except aiohttp.ClientError:
                break
            kept = {name: value for name, value in reply.headers.items() if name.lower() not in HOPS}
            return StreamingResponse(pieces(reply), reply.status, kept)
        message = "the proxy on this replica ended while it had the request; send it again"
        error = {"message": message, "type": "upstream_error", "param": None, "code": "upstream_truncated"}
        return JSONResponse({"error": error}, 502)

    async def __del__(self) -> None:
        """Called by Ray Serve once nothing is in flight here."""
        if self.program:
            await self.program.stop()
        if self.session:
            await self.session.close()


async def pieces(reply: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The body as it comes. A client that goes away ends this, and with it the program's own connection."""
    try:
        async for piece in reply.content.iter_any():
            yield piece
    finally:
        reply.close()


def app(args: dict[str, str]) -> serve.Application:
    """`flags`: what `isogloss serve` is started with."""
    return Isogloss.bind(args.get("flags", ""))
