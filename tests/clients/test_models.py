"""Each SDK's own list of models through isogloss, in front of servers that know OpenAI's alone."""

from __future__ import annotations

import anthropic
import ollama
import openai
import pytest
from google import genai
from google.genai import errors, types

from helpers import only

SERVERS = only("vllm-new", "llama-cpp", "sglang")


def root(stack) -> str:
    return stack.base_url.removesuffix("/v1")


@SERVERS
def test_openai_lists_and_shows_models(stack):
    sdk = openai.OpenAI(base_url=stack.base_url, api_key="k", max_retries=0)
    listed = list(sdk.models.list())
    assert stack.model in [model.id for model in listed]
    assert sdk.models.retrieve(stack.model).id == stack.model
    with pytest.raises(openai.NotFoundError) as caught:
        sdk.models.retrieve("gone")
    assert caught.value.code == "model_not_found"


@SERVERS
def test_anthropic_lists_and_shows_models(stack):
    sdk = anthropic.Anthropic(base_url=root(stack), api_key="k", max_retries=0)
    listed = list(sdk.models.list(limit=1))  # The SDK turns the pages.
    assert stack.model in [model.id for model in listed]
    model = sdk.models.retrieve(stack.model)
    assert (model.id, model.type) == (stack.model, "model")
    assert model.created_at.year >= 1970 and model.display_name
    with pytest.raises(anthropic.NotFoundError) as caught:
        sdk.models.retrieve("gone")
    assert caught.value.body["error"]["type"] == "not_found_error"


@SERVERS
@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_google_genai_lists_and_shows_models(stack, version):
    options = types.HttpOptions(base_url=root(stack), api_version=version, timeout=30_000)
    with genai.Client(api_key="k", http_options=options) as sdk:
        listed = list(sdk.models.list(config={"page_size": 1}))
        assert f"models/{stack.model}" in [model.name for model in listed]
        model = sdk.models.get(model=stack.model)
        assert model.name == f"models/{stack.model}" and "generateContent" in model.supported_actions
        with pytest.raises(errors.ClientError) as caught:
            sdk.models.get(model="gone")
        assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND")
    # The key goes where the server looks for it.
    headers = {name.lower(): value for name, value in dict(stack.server.others[-1].headers).items()}
    assert headers["authorization"] == "Bearer k" and "x-goog-api-key" not in headers


@SERVERS
def test_ollama_lists_shows_and_names_what_runs(stack):
    sdk = ollama.Client(host=root(stack), timeout=30)
    assert stack.model in [model.model for model in sdk.list().models]
    assert stack.model in [model.model for model in sdk.ps().models]
    shown = sdk.show(stack.model)
    assert {"completion", "tools"} <= set(shown.capabilities)
    assert shown.modelinfo["general.basename"] == stack.model
    with pytest.raises(ollama.ResponseError) as caught:
        sdk.show("gone")
    assert caught.value.status_code == 404 and "model 'gone' not found" in caught.value.error


@only("plain")
def test_a_list_that_the_server_does_not_have_is_an_error_and_no_empty_list(stack):
    """This one answers 500, as transformers serve without a network does."""
    with pytest.raises(anthropic.InternalServerError) as caught:
        anthropic.Anthropic(base_url=root(stack), api_key="k", max_retries=0).models.list()
    assert caught.value.body["type"] == "error"
    options = types.HttpOptions(base_url=root(stack), api_version="v1beta", timeout=30_000)
    with genai.Client(api_key="k", http_options=options) as sdk, pytest.raises(errors.ServerError):
        sdk.models.list()
    with pytest.raises(ollama.ResponseError) as refused:
        ollama.Client(host=root(stack), timeout=30).list()
    assert refused.value.status_code == 500
