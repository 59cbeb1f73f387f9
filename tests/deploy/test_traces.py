"""Traces: from a client's span through the proxy's two to the server, by the conventions of OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from collector import Collector
from conftest import Proxy, eventually

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SERVER, CLIENT = 2, 3


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()
    assert found.faults == []


@pytest.fixture
def server() -> Any:
    from dialect_vllm import VllmNew

    found = VllmNew()
    yield found
    found.close()


@pytest.fixture
def proxy(start: Any, server: Any, collector: Collector) -> Proxy:
    proxy = start("--upstream", server.url, "--probe", "off", "--otlp-endpoint", collector.url)
    proxy.wait_ready()
    return proxy


def ask(proxy: Proxy, flags: str | None = "01", **more: Any) -> httpx.Response:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}", "tracestate": "a=b"} if flags else {}
    body = {"model": "tiny", "messages": [{"role": "user", "content": "xyzzy prompt"}], **more}
    return httpx.post(f"{proxy.base_url}/chat/completions", json=body, headers=headers, timeout=30)


def delivered(proxy: Proxy, collector: Collector) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two spans; the end of the process is their last chance."""
    assert proxy.stop() == 0
    assert collector.paths == {"/v1/traces"}
    serving, asking = sorted(collector.spans, key=lambda span: span["kind"])
    assert (serving["kind"], asking["kind"]) == (SERVER, CLIENT)
    return serving, asking


def test_a_clients_trace_goes_on_through_the_proxy_to_the_server(proxy, server, collector):
    begun = time.time_ns()
    assert ask(proxy).status_code == 200
    sent = {name.lower(): value for name, value in dict(server.requests[-1].headers).items()}
    serving, asking = delivered(proxy, collector)
    assert {serving["trace"], asking["trace"]} == {TRACE}
    assert serving["parent"] == PARENT and asking["parent"] == serving["id"]
    assert sent["traceparent"] == f"00-{TRACE}-{asking['id']}-01"
    assert sent["tracestate"] == "a=b"
    assert begun <= serving["begin"] <= asking["begin"] < asking["end"] <= serving["end"] <= time.time_ns()


def test_spans_have_the_names_of_the_conventions_and_no_content(proxy, server, collector):
    assert ask(proxy, response_format={"type": "json_object"}, stream=True).status_code == 200
    serving, asking = delivered(proxy, collector)
    assert serving["name"] == "POST /v1/chat/completions"
    said = serving["attributes"]
    assert (said["http.request.method"], said["http.response.status_code"]) == ("POST", 200)
    assert said["url.path"] == "/v1/chat/completions"
    assert (said["isogloss.outcome"], said["isogloss.strategy"]) == ("ok", "native")
    assert asking["name"] == "chat tiny"
    said = asking["attributes"]
    assert (said["gen_ai.operation.name"], said["gen_ai.provider.name"]) == ("chat", "vllm")
    assert said["gen_ai.request.model"] == "tiny" and said["gen_ai.request.stream"] is True
    assert f"http://{said['server.address']}:{said['server.port']}" == server.url
    assert not serving["error"] and not asking["error"]
    assert "xyzzy" not in str(collector.spans)


def test_a_failure_shows_with_its_code(proxy, server, collector):
    server.fail("prose", times=None)
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    assert ask(proxy, response_format=form).status_code == 502
    for span in delivered(proxy, collector):
        assert span["error"] and span["attributes"]["error.type"] == "constraint_violated"


def test_a_request_without_a_trace_begins_one(proxy, server, collector):
    assert ask(proxy, flags=None).status_code == 200
    serving, asking = delivered(proxy, collector)
    assert serving["trace"] == asking["trace"] != TRACE and serving["parent"] == ""


def test_what_the_client_does_not_record_is_not_recorded_here(proxy, server, collector):
    assert ask(proxy, flags="00").status_code == 200
    sent = {name.lower(): value for name, value in dict(server.requests[-1].headers).items()}
    assert sent["traceparent"] == f"00-{TRACE}-{PARENT}-00"
    assert proxy.stop() == 0 and collector.spans == []


def test_a_collector_that_fails_costs_its_spans_and_nothing_else(proxy, collector):
    collector.status = 503
    assert ask(proxy).status_code == 200

    def dropped() -> bool:
        return "isogloss_spans_dropped_total 2" in proxy.get("/metrics").text

    eventually(dropped, "the spans were given up")
    collector.status = 200
    assert ask(proxy).status_code == 200
    assert proxy.stop() == 0
    assert proxy.tail().count("traces cannot be delivered") == 1


def test_without_the_flag_headers_pass_and_nothing_is_traced(start, server):
    proxy = start("--upstream", server.url, "--probe", "off")
    proxy.wait_ready()
    assert ask(proxy).status_code == 200
    sent = {name.lower(): value for name, value in dict(server.requests[-1].headers).items()}
    assert sent["traceparent"] == f"00-{TRACE}-{PARENT}-01"
    assert "isogloss_spans_dropped_total" not in proxy.get("/metrics").text
