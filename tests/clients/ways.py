"""Frameworks, each with every way that it has to a structure, a stream and a tool: nothing but the address is ours.

A way is asked for a `City` of what a scripted server knows; `tool` is the name under which the framework asks for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

KEY = "test-key"
ASKED = "Where is the Eiffel tower?"
SECONDS = 30


class City(BaseModel):
    """A city and where it is."""

    city: str
    country: str
    population: int


@dataclass(frozen=True)
class Way:
    """What one framework does over one dialect; `None` for what it has no way to."""

    name: str
    tool: str
    forced: Callable[[Any], Any] | None = None  # By a tool that must be called.
    native: Callable[[Any], Any] | None = None  # By a schema for the answer.
    streamed: Callable[[Any], Any] | None = None
    streamed_tool: str | None = None  # Where a stream asks for the structure by a tool: its name.
    # Calls `get_weather` with what the model wants, and gives what was asked for and the last answer.
    acts: Callable[[Any], tuple[list[str], str]] | None = None


def root(stack: Any) -> str:
    return stack.base_url.removesuffix("/v1")


def weather(asked: list[str]) -> Callable[[str], str]:
    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        asked.append(city)
        return "21 degrees"

    return get_weather


# --- PydanticAI ----------------------------------------------------------------------------------


def pydantic_models(anthropic: bool) -> dict[str, Callable[[Any], Any]]:
    """Anthropic's needs an SDK that the first environment does not have."""
    return {"anthropic": pydantic_anthropic} if anthropic else pydantic_others()


def pydantic_anthropic(stack: Any) -> Any:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.profiles.anthropic import anthropic_model_profile
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=root(stack), api_key=KEY, max_retries=0, timeout=SECONDS)
    # A profile says what the model can, which the name of a server's own does not.
    profile = anthropic_model_profile("claude-sonnet-4-5")
    return AnthropicModel(stack.model, provider=AnthropicProvider(anthropic_client=client), profile=profile)


def pydantic_others() -> dict[str, Callable[[Any], Any]]:
    from openai import AsyncOpenAI
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    def client(stack: Any) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=stack.base_url, api_key=KEY, max_retries=0, timeout=SECONDS)

    def google(stack: Any) -> GoogleModel:
        return GoogleModel(stack.model, provider=GoogleProvider(api_key=KEY, base_url=root(stack)))

    return {
        "chat": lambda stack: OpenAIChatModel(stack.model, provider=OpenAIProvider(openai_client=client(stack))),
        "responses": lambda stack: OpenAIResponsesModel(
            stack.model, provider=OpenAIProvider(openai_client=client(stack))
        ),
        "google": google,
        "ollama": lambda stack: OpenAIChatModel(stack.model, provider=OllamaProvider(openai_client=client(stack))),
    }


def pydantic_way(dialect: str, model: Callable[[Any], Any]) -> Way:
    from pydantic_ai import Agent, NativeOutput

    def agent(stack: Any, output: Any) -> Agent:
        # Anthropic's default is more than the scripted servers have room for.
        return Agent(model(stack), output_type=output, model_settings={"max_tokens": 2000}, retries=0)

    def streamed(stack: Any) -> Any:
        async def run() -> Any:
            async with agent(stack, City).run_stream(ASKED) as result:
                return await result.get_output()

        return asyncio.run(run())

    def acts(stack: Any) -> tuple[list[str], str]:
        asked: list[str] = []
        found = agent(stack, str)
        found.tool_plain(weather(asked))
        return asked, found.run_sync("What is the weather in Paris?").output

    return Way(
        f"pydantic-ai-{dialect}",
        "final_result",
        lambda stack: agent(stack, City).run_sync(ASKED).output,
        lambda stack: agent(stack, NativeOutput(City)).run_sync(ASKED).output,
        streamed,
        "final_result",
        acts,
    )


# --- Instructor ----------------------------------------------------------------------------------


def instructor_ways() -> list[Way]:
    import anthropic
    import instructor
    import openai
    from google import genai

    def of_openai(mode: Any) -> Callable[[Any], Any]:
        def made(stack: Any) -> Any:
            client = openai.OpenAI(base_url=stack.base_url, api_key=KEY, max_retries=0, timeout=SECONDS)
            return instructor.from_openai(client, mode=mode)

        return made

    def of_anthropic(stack: Any) -> Any:
        client = anthropic.Anthropic(base_url=root(stack), api_key=KEY, max_retries=0, timeout=SECONDS)
        return instructor.from_anthropic(client, mode=instructor.Mode.ANTHROPIC_TOOLS)

    def of_google(stack: Any) -> Any:
        client = genai.Client(api_key=KEY, http_options={"base_url": root(stack)})
        return instructor.from_genai(client, mode=instructor.Mode.GENAI_TOOLS)

    def ask(make: Callable[[Any], Any], **more: Any) -> Callable[[Any], Any]:
        def run(stack: Any) -> Any:
            messages = [{"role": "user", "content": ASKED}]
            asked = {"model": stack.model, "messages": messages, "response_model": City, "max_retries": 0}
            return make(stack).create(**asked, **more)

        return run

    def partial(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(stack: Any) -> Any:
            messages = [{"role": "user", "content": ASKED}]
            pieces = make(stack).create_partial(model=stack.model, messages=messages, response_model=City)
            return City.model_validate(list(pieces)[-1].model_dump())

        return run

    tools, schema = of_openai(instructor.Mode.TOOLS), of_openai(instructor.Mode.JSON_SCHEMA)
    responses = of_openai(instructor.Mode.RESPONSES_TOOLS)
    return [
        Way("instructor-chat", "City", ask(tools), ask(schema), partial(tools), "PartialCity"),
        Way("instructor-responses", "City", ask(responses)),
        Way("instructor-anthropic", "City", ask(of_anthropic, max_tokens=2000)),
        Way("instructor-google", "City", ask(of_google)),
    ]


# --- LangChain -----------------------------------------------------------------------------------


def langchain_models() -> dict[str, Callable[[Any], Any]]:
    from langchain_anthropic import ChatAnthropic
    from langchain_google_genai import ChatGoogleGenerativeAI
    from langchain_openai import ChatOpenAI

    def of_openai(**more: Any) -> Callable[[Any], Any]:
        return lambda stack: ChatOpenAI(
            model=stack.model, base_url=stack.base_url, api_key=KEY, max_retries=0, timeout=SECONDS, **more
        )

    return {
        "chat": of_openai(),
        "responses": of_openai(use_responses_api=True),
        "anthropic": lambda stack: ChatAnthropic(
            model=stack.model, base_url=root(stack), api_key=KEY, max_retries=0, max_tokens=2000, timeout=SECONDS
        ),
        "google": lambda stack: ChatGoogleGenerativeAI(
            model=stack.model, base_url=root(stack), google_api_key=KEY, max_retries=0, timeout=SECONDS
        ),
    }


def langchain_way(dialect: str, model: Callable[[Any], Any]) -> Way:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    def structure(stack: Any, method: str) -> Any:
        return model(stack).with_structured_output(City, method=method)

    def acts(stack: Any) -> tuple[list[str], str]:
        asked: list[str] = []
        acting = tool(weather(asked))
        bound = model(stack).bind_tools([acting])
        history: list[Any] = [HumanMessage("What is the weather in Paris?")]
        for _ in range(3):
            said = bound.invoke(history)
            history.append(said)
            if not said.tool_calls:
                return asked, said.text if isinstance(said.text, str) else said.text()
            history += [acting.invoke(call) for call in said.tool_calls]
        raise AssertionError("it goes on calling")

    return Way(
        f"langchain-{dialect}",
        "City",
        lambda stack: structure(stack, "function_calling").invoke(ASKED),
        lambda stack: structure(stack, "json_schema").invoke(ASKED),
        lambda stack: list(structure(stack, "function_calling").stream(ASKED))[-1],
        "City",
        acts,
    )


# --- OpenAI Agents -------------------------------------------------------------------------------


def agents_way(dialect: str) -> Way:
    import agents
    import openai

    def model(stack: Any) -> Any:
        agents.set_tracing_disabled(True)
        client = openai.AsyncOpenAI(base_url=stack.base_url, api_key=KEY, max_retries=0, timeout=SECONDS)
        kinds = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}
        return kinds[dialect](stack.model, client)

    def native(stack: Any) -> Any:
        found = agents.Agent("reader", model=model(stack), output_type=City)
        return agents.Runner.run_sync(found, ASKED).final_output

    def forced(stack: Any) -> Any:
        made: list[City] = []

        @agents.function_tool
        def record(city: str, country: str, population: int) -> str:
            """Record a city."""
            made.append(City(city=city, country=country, population=population))
            return "noted"

        found = agents.Agent(
            "reader",
            model=model(stack),
            tools=[record],
            model_settings=agents.ModelSettings(tool_choice="required"),
            tool_use_behavior="stop_on_first_tool",
        )
        assert agents.Runner.run_sync(found, ASKED).final_output == "noted"
        return made[-1]

    def streamed(stack: Any) -> Any:
        async def run() -> Any:
            result = agents.Runner.run_streamed(agents.Agent("reader", model=model(stack), output_type=City), ASKED)
            async for _ in result.stream_events():
                pass
            return result.final_output

        return asyncio.run(run())

    def acts(stack: Any) -> tuple[list[str], str]:
        asked: list[str] = []
        found = agents.Agent("reader", model=model(stack), tools=[agents.function_tool(weather(asked))])
        return asked, agents.Runner.run_sync(found, "What is the weather in Paris?").final_output

    return Way(f"openai-agents-{dialect}", "record", forced, native, streamed, None, acts)


def ways() -> list[Way]:
    """Those of the environment of `requirements.txt`."""
    models = pydantic_models(anthropic=False).items()
    return [*(pydantic_way(dialect, model) for dialect, model in models), *map(agents_way, ("chat", "responses"))]


def more_ways() -> list[Way]:
    """Those of `frameworks/requirements.txt`."""
    return [
        pydantic_way("anthropic", pydantic_models(anthropic=True)["anthropic"]),
        *instructor_ways(),
        *(langchain_way(dialect, model) for dialect, model in langchain_models().items()),
    ]
