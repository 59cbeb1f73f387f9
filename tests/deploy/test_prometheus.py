"""What a real Prometheus sees of the real binary under load, through the configuration, the rules and the
dashboard that are in deploy/."""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from conftest import DEPLOY, ROOT, Proxy, clean_environment, eventually, free_port, run, tool

PROMETHEUS = DEPLOY / "prometheus"
DASHBOARD = json.loads((DEPLOY / "grafana" / "isogloss.json").read_text())
MODEL = ROOT / "tests" / "models" / "tiny-chat-q8_0.gguf"
SCRAPE_SECONDS = 1
# What Grafana makes of them for a scrape each second.
VARIABLES = {"$__rate_interval": "10s", "$__interval": "5s", "$job": ".*", "$instance": ".*"}
LOAD_SECONDS = 15


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries() -> list[Any]:
    """Every query of every panel."""
    return [
        pytest.param(panel, target["expr"], id=f"{panel['title']}-{target['refId']}")
        for panel in panels()
        for target in panel["targets"]
    ]


def filled_in(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


@dataclass
class Scraper:
    """A running Prometheus."""

    url: str
    proxies: list[Proxy]
    begun: float

    def ask(self, path: str, **parameters: Any) -> Any:
        reply = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30)
        assert reply.status_code == 200, reply.text
        return reply.json()["data"]

    def series(self, expression: str) -> list[list[float]]:
        """The numbers of each series over the time of the load; none where there was nothing to compute."""
        end = time.time()
        found = self.ask("query_range", query=expression, start=self.begun, end=end, step=1)["result"]
        numbers = [[float(value) for _, value in one["values"]] for one in found]
        return [good for one in numbers if (good := [value for value in one if not math.isnan(value)])]

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def unrecorded(self) -> list[str]:
        """The recording rules that have no data yet, but for those that need ten minutes for it."""
        names = [rule["name"] for rule in self.rules() if rule["type"] == "recording"]
        return [name for name in names if "10m" not in name and not self.series(name)]


@pytest.fixture(scope="module")
def scraper(start: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraper]:
    """Prometheus, as deploy/ configures it, in front of two proxies with traffic of every kind."""
    prometheus = tool("prometheus")
    from collector import Collector
    from dialect_vllm import VllmNew
    from traffic import answer, flowing

    server = VllmNew()
    answer(server)
    nobody = f"http://127.0.0.1:{free_port()}"
    collector = Collector()
    arguments = ["--otlp-endpoint", collector.url, "--upstream", server.url, "--upstream", nobody, "--probe", "light", "--body-limit", "64KiB"]
    proxies = [start(*arguments, "--log-format", "json")]
    worker = start("--model", MODEL, "--context", "512", "--slots", "2", model="tiny-chat-q8_0")
    proxies.append(worker)
    for proxy in proxies:
        proxy.wait_ready()
    folder = tmp_path_factory.mktemp("prometheus")
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": f"{SCRAPE_SECONDS}s", "evaluation_interval": "1s"}
    (job,) = config["scrape_configs"]
    job["static_configs"] = [{"targets": [proxy.admin for proxy in proxies]}]
    config["rule_files"] = [str(PROMETHEUS / name) for name in config["rule_files"]]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address={address}"], stdout=log, stderr=log, env=clean_environment()
        )
    scraper = Scraper(f"http://{address}", proxies, time.time())
    try:
        eventually(lambda: httpx.get(f"{scraper.url}/-/ready").status_code == 200, "Prometheus is ready")
        with flowing(proxies[0], server, worker):
            time.sleep(LOAD_SECONDS)
            # Rules are evaluated in the groups' own rhythm: each once with data.
            eventually(lambda: not scraper.unrecorded(), "the recording rules", 60)
        yield scraper
    finally:
        process.terminate()
        process.wait(20)
        server.close()
        collector.close()
    assert collector.spans and not collector.faults


def test_rules_and_configuration_pass_promtool():
    files = [PROMETHEUS / "recording.yaml", PROMETHEUS / "alerts.yaml"]
    run(tool("promtool"), "check", "rules", *files)
    for name in ("prometheus.yml", "compose.yml"):
        run(tool("promtool"), "check", "config", PROMETHEUS / name)


def test_every_alert_fires_in_its_unit_test_and_keeps_quiet_else():
    run(tool("promtool"), "test", "rules", PROMETHEUS / "alerts_test.yaml")
    alerts = {
        rule["alert"]
        for group in yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    }
    tests = yaml.safe_load((PROMETHEUS / "alerts_test.yaml").read_text())["tests"]
    cases = [case for test in tests for case in test.get("alert_rule_test", [])]
    fired = {case["alertname"] for case in cases if case["exp_alerts"]}
    assert fired == alerts, "an alert without a test, or a test without an alert"


def test_names_follow_the_conventions_of_prometheus(scraper):
    for proxy in scraper.proxies:
        done = subprocess.run(
            [tool("promtool"), "check", "metrics"],
            input=proxy.get("/metrics").text,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_can_read_every_scrape(scraper):
    targets = scraper.ask("targets")["activeTargets"]
    assert len(targets) == len(scraper.proxies)
    for target in targets:
        assert (target["health"], target["lastError"]) == ("up", "")


def test_every_rule_is_evaluated_without_an_error(scraper):
    rules = scraper.rules()
    assert rules
    for rule in rules:
        assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), rule["name"]
    assert not scraper.unrecorded()


@pytest.mark.parametrize("panel, expression", queries())
def test_every_query_of_the_dashboard_has_data_under_load(scraper, panel, expression):
    found = scraper.series(filled_in(expression))
    assert found, f"{panel['title']}: no data for {expression}"


def test_what_the_panels_show_is_what_was_sent(scraper):
    def total(expression: str) -> float:
        return sum(max(one) for one in scraper.series(expression))

    assert total('isogloss_requests_total{client_dialect="chat",server_dialect="vllm",outcome="ok"}') > 20
    assert total('isogloss_requests_total{server_dialect="worker",outcome="ok"}') > 0
    assert total('isogloss_violations_total{action="retry"}') > 0
    assert total('isogloss_retries_total{why="violation"}') > 0
    assert total("isogloss_first_delta_seconds_count") > 5
    assert total("isogloss_worker_completion_tokens_total") > 50
    # One upstream of three never answers.
    assert sorted(max(one) for one in scraper.series("isogloss_upstream_up")) == [0, 1, 1]
    # The proxy's own time is told apart from the server's.
    own, upstream = total("isogloss_added_seconds_sum"), total("isogloss_upstream_seconds_sum")
    assert 0 < own < upstream


def test_the_histograms_of_one_request_add_up(scraper):
    """Every request is in every family of its kind, and buckets are cumulative."""
    text = scraper.proxies[0].get("/metrics").text

    def total(pattern: str) -> float:
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(pattern, line))

    requests = total(r"isogloss_requests_total\{")
    assert requests > 0
    assert total(r"isogloss_request_duration_seconds_count\{") == requests
    assert total(r'isogloss_request_duration_seconds_bucket\{.*le="\+Inf"') == requests
    assert total(r"isogloss_added_seconds_count\{") == requests
    assert 0 < total(r"isogloss_upstream_seconds_count\{") <= requests


def test_a_thousand_random_names_add_no_series(scraper):
    """Models, tools, users and paths are the clients' words: none becomes a label."""
    proxy = scraper.proxies[0]

    def strange(client: httpx.Client, index: int) -> None:
        name = f"stranger{index}"
        body = {
            "model": name,
            "user": name,
            "messages": [{"role": "user", "content": name}],
            "tools": [{"type": "function", "function": {"name": name, "parameters": {"properties": {name: {}}}}}],
        }
        client.post(f"{proxy.base_url}/chat/completions", json=body, headers={"x-request-id": name})
        client.get(f"{proxy.base_url}/{name}?{name}={name}")

    with httpx.Client(timeout=30) as client:
        strange(client, 0)
        before = proxy.series()
        for index in range(1, 1000):
            strange(client, index)
    assert proxy.series() - before == set()
    assert "stranger" not in proxy.get("/metrics").text


def test_each_request_is_one_line_in_the_log_without_its_words(scraper):
    proxy = scraper.proxies[0]
    secret = "xyzzy-secret"
    begun = len(proxy.lines())
    body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": f"{secret} prompt"}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": {"type": "object", "properties": {f"{secret}-field": {}}}},
        },
    }
    headers = {"authorization": f"Bearer {secret}-key", "x-request-id": "known"}
    reply = httpx.post(f"{proxy.base_url}/chat/completions?key={secret}-query", json=body, headers=headers)
    ours = reply.headers["x-isogloss-request-id"]
    assert reply.status_code == 200, reply.text

    def lines() -> list[dict[str, Any]]:
        return [line for line in proxy.lines()[begun:] if ours in json.dumps(line) and line.get("message") == "request"]

    (line,) = eventually(lines, "the access line")
    assert (line["outcome"], line["status"], line["path"]) == ("ok", 200, "/v1/chat/completions")
    assert line["peer"].startswith("127.0.0.1:"), line
    assert line["strategy"] == "native" and line["dur_ms"] >= line["own_ms"] > 0
    assert secret not in proxy.log.read_text()


# --- the dashboard itself ---


def test_the_dashboard_is_well_formed():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    titles = [panel["title"] for panel in panels()]
    assert len(set(titles)) == len(titles)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    for panel in panels():
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            # A dashboard of two proxies must be able to show one.
            assert target["expr"].count('job=~"$job",instance=~"$instance"') == len(
                re.findall(r"\b(?:isogloss|process)_\w+", target["expr"])
            ), target["expr"]


def test_every_family_is_on_the_dashboard_or_in_an_alert():
    shown = json.dumps(DASHBOARD) + (PROMETHEUS / "alerts.yaml").read_text()
    page = (ROOT / "docs" / "metrics.md").read_text()
    table = page.split("<!-- metrics:begin -->")[1].split("<!-- metrics:end -->")[0]
    families = re.findall(r"^\| `(\w+)`", table, re.M)
    assert len(families) > 20
    unseen = [name for name in families if name not in shown and name != "process_start_time_seconds"]
    assert unseen == []


def test_the_provisioning_of_grafana_leads_to_the_dashboard():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    mounts = dict(entry.split(":")[:2][::-1] for entry in compose["services"]["grafana"]["volumes"])
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/isogloss.yaml").read_text())
    folder = Path(provider["providers"][0]["options"]["path"])
    assert mounts[str(folder / "isogloss.json")] == "./grafana/isogloss.json"
    assert mounts["/etc/grafana/provisioning"] == "./grafana/provisioning"
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    assert "prometheus" in compose["services"]
