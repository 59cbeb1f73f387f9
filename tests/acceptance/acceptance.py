"""Asks a server through Isogloss in every way, counts what came back, and lists what was refused."""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter, defaultdict

import openai
from demands import ALL, Demand
from judge import Got, verdict
from pydantic_ai import Agent, NativeOutput, StructuredDict, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

PROMPT = "Answer briefly. Which record fits best? Make one up where nothing is known."
OUTCOMES = ("valid", "cut", "error", "WRONG")
CLIENTS = ("openai", "openai, streamed", "pydantic-ai")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(args: argparse.Namespace) -> tuple[subprocess.Popen, str, str]:
    """The program before the server, ready: the process, its URL, its admin's URL."""
    listen, admin = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    command = [os.environ["ISOGLOSS_BIN"], "serve", "--upstream", args.url, "--listen", listen, "--admin", admin]
    if args.dialect:
        command += ["--dialect", args.dialect]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    end = time.monotonic() + args.ready
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{admin}/readyz", timeout=5):
                return process, f"http://{listen}", f"http://{admin}"
        except OSError:
            time.sleep(0.3)
    process.kill()
    sys.exit("the server was not found to enforce anything in time; see `isogloss probe URL`")


def told(error: Exception) -> str:
    code = getattr(error, "code", None) or getattr(error, "status_code", None)
    return f"{code or type(error).__name__}: {str(error)[:200]}"


async def whole(client: openai.AsyncOpenAI, request: dict) -> Got:
    reply = await client.chat.completions.create(**request)
    choice = reply.choices[0]
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or []]
    return Got(choice.message.content or "", calls, choice.finish_reason)


async def streamed(client: openai.AsyncOpenAI, request: dict) -> Got:
    got, calls = Got(), defaultdict(lambda: ["", ""])
    async for chunk in await client.chat.completions.create(**request, stream=True):
        for choice in chunk.choices:
            got.content += choice.delta.content or ""
            got.finish = choice.finish_reason or got.finish
            for call in choice.delta.tool_calls or []:
                calls[call.index][0] += call.function.name or ""
                calls[call.index][1] += call.function.arguments or ""
    got.calls = [tuple(calls[index]) for index in sorted(calls)]
    return got


async def pydantic(base: str, model: str, demand: Demand, args: argparse.Namespace) -> Got | None:
    """The same by PydanticAI, where it has words for it; it validates nothing of a bare schema itself."""
    schema = demand.schema if demand.way == "json_schema" else demand.tools.get("record")
    if demand.way not in ("json_schema", "required, one tool") or schema.get("type") != "object":
        return None
    output = StructuredDict(schema, name="record")
    output = NativeOutput(output) if demand.way == "json_schema" else ToolOutput(output, name="record")
    chat = OpenAIChatModel(model, provider=OpenAIProvider(base_url=f"{base}/v1", api_key="unused"))
    settings = {"max_tokens": args.max_tokens, "timeout": args.timeout}
    try:
        result = await Agent(chat, output_type=output, retries=0).run(PROMPT, model_settings=settings)
    except UnexpectedModelBehavior as error:
        # It takes a text that was cut for an error of its own.
        return Got(finish="length") if "token" in str(error).lower() else Got(error=told(error))
    said = json.dumps(result.output)
    return Got(said) if demand.way == "json_schema" else Got(calls=[("record", said)])


async def ask(base: str, model: str, demand: Demand, client: str, args: argparse.Namespace) -> Got | None:
    sdk = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="unused", max_retries=0, timeout=args.timeout)
    request = {
        "model": model,
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": args.max_tokens,
        **demand.fields,
        **({"extra_body": demand.extra} if demand.extra else {}),
    }
    try:
        if client == "pydantic-ai":
            return await pydantic(base, model, demand, args)
        return await (whole if client == "openai" else streamed)(sdk, request)
    except (openai.APIError, ModelHTTPError) as error:
        return Got(error=told(error))


async def run(base: str, args: argparse.Namespace) -> dict:
    models = await openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="unused").models.list()
    model = args.model or models.data[0].id
    room = asyncio.Semaphore(args.parallel)
    results = []

    async def one(demand: Demand, client: str) -> None:
        async with room:
            got = await ask(base, model, demand, client, args)
        if got is not None:
            results.append((demand, client, got, verdict(demand, got)))

    demands = [demand for demand in ALL if args.only in demand.way or args.only in demand.label]
    await asyncio.gather(*(one(demand, client) for demand in demands for client in CLIENTS for _ in range(args.rounds)))
    return results


def report(results: list, args: argparse.Namespace) -> int:
    asked = {demand.way for demand, *_ in results}
    ways = {way: Counter() for way in dict.fromkeys(demand.way for demand in ALL) if way in asked}
    ways |= {f"all by {client}": Counter() for client in CLIENTS}
    for demand, client, _, outcome in results:
        ways[demand.way][outcome] += 1
        ways[f"all by {client}"][outcome] += 1
    print(f"| way | {' | '.join(OUTCOMES)} |\n|---|{'---|' * len(OUTCOMES)}")
    for way, counts in ways.items():
        print(f"| {way} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |")
    errors = Counter((demand.way, demand.label, got.error) for demand, _, got, _ in results if got.error)
    if errors:
        print("\nrefused, by the server or by Isogloss:")
    for (way, label, error), count in sorted(errors.items()):
        print(f"  {count} x {way}, {label}: {error}")
    wrong = [(demand, client, got) for demand, client, got, outcome in results if outcome == "WRONG"]
    for demand, client, got in wrong:
        print(f"\nWRONG: {demand.way}, {demand.label}, {client}: {got}")
    counts = Counter(outcome for *_, outcome in results)
    ended = len(results) - counts["cut"]
    share = counts["valid"] / ended if ended else 0.0
    print(f"\n{len(results)} answers: " + ", ".join(f"{counts[name]} {name}" for name in OUTCOMES))
    print(f"{share:.1%} of those that ended are valid (at least {args.at_least:.0%} is wanted)")
    return 1 if wrong or share < args.at_least else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="tests/acceptance/run")
    parser.add_argument("url", help="the server, such as http://localhost:8000")
    parser.add_argument("--proxy", action="store_true", help="URL is that of an Isogloss that runs already")
    parser.add_argument("--dialect", help="pin the server's dialect, such as vllm@0.10.2")
    parser.add_argument("--model", help="the model (default: the first that the server lists)")
    parser.add_argument("--only", default="", help="only ways or schemas with this in their name")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is asked (default 1)")
    parser.add_argument("--parallel", type=int, default=4, help="requests at once (default 4)")
    parser.add_argument("--max-tokens", type=int, default=256, help="of one answer (default 256)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one answer (default 300)")
    parser.add_argument("--ready", type=float, default=300, help="seconds until the server is probed (default 300)")
    parser.add_argument("--at-least", type=float, default=0.9, help="share that must be valid (default 0.9)")
    args = parser.parse_args()
    process, base = None, args.url.rstrip("/")
    if not args.proxy:
        process, base, _ = start(args)
    try:
        code = report(asyncio.run(run(base, args)), args)
    finally:
        if process:
            process.terminate()
    sys.exit(code)


if __name__ == "__main__":
    main()
