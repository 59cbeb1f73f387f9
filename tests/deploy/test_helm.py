"""The chart, rendered by Helm itself and validated against Kubernetes' own schemas."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import DEPLOY, clean_environment, documents, run, tool
from manifests import assert_hardened, assert_probed, environment, only, validate

CHART = DEPLOY / "helm" / "isogloss"
EXAMPLES = sorted(path.stem for path in (CHART / "examples").glob("*.yaml"))
ONE = ["--set", "config.upstream[0].url=http://vllm:8000"]
EVERYTHING = [
    *ONE,
    *(flag for name in ("autoscaling", "podMonitor", "serviceMonitor", "prometheusRule", "dashboard", "ingress")
      for flag in ("--set", f"{name}.enabled=true")),
    "--set", "ingress.hosts[0].host=llm.example.com",
    "--set", "ingress.hosts[0].paths[0].path=/,ingress.hosts[0].paths[0].pathType=Prefix",
    "--set", "upstreamApiKey.existingSecret=keys",
    "--set", "networkPolicy.clients[0].podSelector.matchLabels.app=agent",
]  # fmt: skip


def helm(*arguments: Any) -> str:
    return run(tool("helm"), *arguments).stdout


def template(*arguments: Any) -> list[dict[str, Any]]:
    return documents(helm("template", "release", CHART, "--kube-version", "1.34", *arguments))


def refusal(*arguments: Any) -> str:
    command = [tool("helm"), "template", "release", str(CHART), *arguments]
    done = subprocess.run(command, text=True, capture_output=True, env=clean_environment())
    assert done.returncode != 0, done.stdout
    return done.stderr


def container(rendered: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = only(rendered, "Deployment")["spec"]["template"]["spec"]["containers"]
    return found


def test_the_renderer_is_helm_itself():
    assert helm("version", "--short").startswith("v")


@pytest.mark.parametrize("flags", [ONE, EVERYTHING], ids=["least", "everything"])
def test_the_chart_lints_and_renders_to_valid_objects(flags):
    helm("lint", "--strict", CHART, *flags)
    rendered = template(*flags)
    validate(rendered)
    kinds = {document["kind"] for document in rendered}
    assert kinds >= {"Deployment", "Service", "ConfigMap", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy"}
    more = {"HorizontalPodAutoscaler", "PodMonitor", "ServiceMonitor", "PrometheusRule", "Ingress"}
    assert (kinds >= more) if flags is EVERYTHING else not (kinds & more)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_renders_and_its_configuration_is_one_that_the_proxy_takes(name, binary, tmp_path):
    rendered = template("--values", CHART / "examples" / f"{name}.yaml")
    validate(rendered)
    configs = [document for document in rendered if document["kind"] == "ConfigMap"]
    (text,) = [document["data"]["isogloss.toml"] for document in configs if "isogloss.toml" in document["data"]]
    # The model is in the cluster's volume alone.
    text = text.replace("/models/Qwen3-0.6B-Q8_0.gguf", str(DEPLOY.parent / "tests/models/tiny-chat-q8_0.gguf"))
    file = tmp_path / "isogloss.toml"
    file.write_text(text)
    run(binary, "check", "--config", file, env={"OPENAI_API_KEY": "sk-example"})


def test_pods_are_hardened_probed_and_drained():
    rendered = template(*ONE, "--set", "drainSeconds=900,preStopSeconds=20")
    pod = only(rendered, "Deployment")["spec"]["template"]["spec"]
    assert_hardened(container(rendered), pod)
    assert_probed(container(rendered))
    assert pod["automountServiceAccountToken"] is False
    assert container(rendered)["lifecycle"]["preStop"] == {"sleep": {"seconds": 20}}
    assert environment(container(rendered))["ISOGLOSS_DRAIN_TIMEOUT"] == "900s"
    assert pod["terminationGracePeriodSeconds"] > 920


def test_another_configuration_makes_other_pods_and_the_same_one_does_not():
    def checksum(*flags: str) -> str:
        pods = only(template(*ONE, *flags), "Deployment")["spec"]["template"]
        return pods["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum("--set", "replicaCount=7")
    assert checksum() != checksum("--set", "config.violation_retries=3")
    pods = only(template(*ONE, "--set", "rollOnConfigChange=false"), "Deployment")["spec"]["template"]
    assert "checksum/config" not in (pods["metadata"].get("annotations") or {})


def test_numbers_reach_the_file_as_whole_numbers():
    config = only(template(*ONE, "--set", "config.limits.cache_bytes=1073741824"), "ConfigMap")
    assert 'cache_bytes = "1073741824"' in config["data"]["isogloss.toml"]


BARE = """
config:
  upstream: [{url: http://127.0.0.1:1, markup: off}]
  probe: off
  record: off
  repair: off
  open: yes
  tls: {admin: no}
  worker: {speculate: off}
"""


def test_words_that_yaml_reads_as_booleans_are_what_they_say(binary, tmp_path):
    def config(text: str) -> str:
        (tmp_path / "values.yaml").write_text(text)
        return only(template("--values", tmp_path / "values.yaml"), "ConfigMap")["data"]["isogloss.toml"]

    text = config(BARE)
    assert text == config(re.sub(r"\b(off|yes|no)\b", r'"\1"', BARE))
    assert text.count('= "off"') == 5 and 'open = "yes"' in text and 'admin = "no"' in text
    (tmp_path / "isogloss.toml").write_text(text)
    run(binary, "check", "--config", tmp_path / "isogloss.toml")
    # No word of theirs is a yes.
    for key in ("probe", "record", "repair", "worker.speculate", "upstream[0].markup"):
        assert key.split(".")[-1] in refusal(*ONE, "--set", f"config.{key}=true")


def test_it_scales_on_requests_in_flight_and_the_admin_port_is_in_no_service_for_clients():
    rendered = template(*EVERYTHING)
    pods = next(m["pods"] for m in only(rendered, "HorizontalPodAutoscaler")["spec"]["metrics"] if m["type"] == "Pods")
    assert pods["metric"]["name"] == "isogloss_requests_in_flight"
    assert "replicas" not in only(rendered, "Deployment")["spec"], "the autoscaler's word holds"
    services = {document["metadata"]["name"]: document for document in rendered if document["kind"] == "Service"}
    assert [port["targetPort"] for port in services["release-isogloss"]["spec"]["ports"]] == ["http"]
    monitored = services["release-isogloss-metrics"]
    selector = only(rendered, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert selector.items() <= monitored["metadata"]["labels"].items()
    assert not selector.items() <= services["release-isogloss"]["metadata"]["labels"].items()


def test_probes_and_prometheus_speak_tls_where_the_admin_port_does():
    tls = "config.tls.cert=/tls/tls.crt,config.tls.key=/tls/tls.key"
    for flags, scheme in [((), "HTTP"), (("--set", tls), "HTTP"), (("--set", f"{tls},config.tls.admin=yes"), "HTTPS"), (("--set", f"{tls},config.tls.admin=true"), "HTTPS")]:
        rendered = template(*EVERYTHING, *flags)
        probes = [container(rendered)[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
        assert {probe["scheme"] for probe in probes} == {scheme}
        (service,) = only(rendered, "ServiceMonitor")["spec"]["endpoints"]
        (pod,) = only(rendered, "PodMonitor")["spec"]["podMetricsEndpoints"]
        assert {service["scheme"], pod["scheme"]} == {scheme.lower()}


def test_keys_come_from_secrets_and_are_nowhere_in_the_configuration():
    rendered = template(*EVERYTHING)
    (key,) = [entry for entry in container(rendered)["env"] if entry["name"] == "ISOGLOSS_UPSTREAM_API_KEY"]
    assert key["valueFrom"] == {"secretKeyRef": {"name": "keys", "key": "api-key"}}


def test_who_asked_comes_back_to_the_pod_that_has_its_replies_unless_somebody_says_otherwise():
    def affinity(*flags: str) -> str:
        services = [document for document in template(*ONE, *flags) if document["kind"] == "Service"]
        return services[0]["spec"]["sessionAffinity"]

    assert affinity() == "ClientIP"
    assert affinity("--set", "service.sessionAffinity=None") == "None"
    assert affinity("--set", "service.type=LoadBalancer,replicaCount=5") == "ClientIP"


@pytest.mark.parametrize(
    "flags, said",
    [
        ((), "come back to its pod"),
        (("--set", "service.sessionAffinity=None"), "set service.sessionAffinity to ClientIP"),
        (("--set", "service.sessionAffinity=None,replicaCount=1"), None),
        (("--set", "config.responses.store=none"), None),
        (("--set", "replicaCount=1,autoscaling.enabled=true"), "come back to its pod"),
    ],
)
def test_the_notes_say_what_replicas_do_not_share(flags, said):
    notes = helm("install", "release", CHART, "--dry-run=client", *ONE, *flags).split("\nNOTES:\n")[1]
    assert ("previous_response_id" in notes) == (said is not None)
    assert said is None or said in notes


def test_the_key_that_signs_thoughts_comes_from_a_secret_and_is_one_for_all_pods():
    rendered = template(*ONE, "--set", "thinkingKey.existingSecret=thinking,thinkingKey.key=signing")
    validate(rendered)
    path = environment(container(rendered))["ISOGLOSS_THINKING_KEY_FILE"]
    folder, _, name = path.rpartition("/")
    (mount,) = [mount for mount in container(rendered)["volumeMounts"] if mount["mountPath"] == folder]
    volumes = only(rendered, "Deployment")["spec"]["template"]["spec"]["volumes"]
    (volume,) = [volume for volume in volumes if volume["name"] == mount["name"]]
    assert volume["secret"] == {"secretName": "thinking", "items": [{"key": "signing", "path": name}]}
    assert "ISOGLOSS_THINKING_KEY_FILE" not in environment(container(template(*ONE)))


def test_the_cloud_s_metadata_address_is_out_of_reach():
    (blocks,) = [rule["to"] for rule in only(template(*ONE), "NetworkPolicy")["spec"]["egress"] if "to" in rule]
    (everything,) = [block["ipBlock"] for block in blocks if block["ipBlock"]["cidr"] == "0.0.0.0/0"]
    assert everything["except"] == ["169.254.169.254/32"]


@pytest.mark.parametrize(
    "flags, said",
    [
        ([], "give at least one server"),
        ([*ONE, "--set", "replicas=3"], "replicas"),
        ([*ONE, "--set", "config.on_violation=ignore"], "on_violation"),
        ([*ONE, "--set", "config.timeouts.drain=10m"], "drain"),
        ([*ONE, "--set", "drainSeconds=0"], "drainSeconds"),
        ([*ONE, "--set", "service.sessionAffinity=Cookie"], "sessionAffinity"),
        (["--set", "config.upstream[0].url=vllm:8000"], "url"),
        ([*ONE, "--set", "image.digest=latest"], "digest"),
        ([*ONE, "--set", "ingress.enabled=true"], "/ingress/hosts"),
        ([*ONE, "--kube-version", "1.28"], "1.28"),
    ],
)
def test_mistakes_in_values_are_refused_by_name(flags, said):
    assert said in refusal(*flags)


def test_the_schema_knows_every_value_and_every_setting_of_the_proxy():
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def unknown(given: Any, known: dict[str, Any], path: str) -> list[str]:
        if not isinstance(given, dict) or "properties" not in known:
            return []
        names = [f"{path}.{name}" for name in given if name not in known["properties"]]
        return names + [
            fault
            for name, value in given.items()
            for fault in unknown(value, known["properties"].get(name, {}), f"{path}.{name}")
        ]

    assert unknown(values, schema, "values") == []
    reference = (DEPLOY.parent / "docs" / "reference.md").read_text()
    table = reference.split("<!-- config:begin -->")[1].split("<!-- config:end -->")[0]
    keys = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    config = schema["properties"]["config"]["properties"]
    # Where it listens and how long it drains are the chart's own business.
    for key in set(keys) - {"listen", "admin", "timeouts.drain"}:
        table, _, name = key.rpartition(".")
        known = config[table].get("items", config[table])["properties"] if table else config
        assert name in known, f"values.schema.json lacks config.{key}"


def test_alerts_rules_and_dashboard_in_the_chart_are_those_of_deploy():
    for copy, original in [
        ("alerts.yaml", "prometheus/alerts.yaml"),
        ("recording.yaml", "prometheus/recording.yaml"),
        ("isogloss.json", "grafana/isogloss.json"),
    ]:
        same = (CHART / "files" / copy).read_bytes() == (DEPLOY / original).read_bytes()
        assert same, f"cp deploy/{original} deploy/helm/isogloss/files/{copy}"
    rendered = template(*EVERYTHING)
    groups = only(rendered, "PrometheusRule")["spec"]["groups"]
    assert [group["name"] for group in groups] == ["isogloss", "isogloss-alerts"]
    (dashboard,) = [d for d in rendered if d["kind"] == "ConfigMap" and d["metadata"]["name"].endswith("dashboard")]
    assert json.loads(dashboard["data"]["isogloss.json"])["title"] == "Isogloss"
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_a_release_of_another_name_is_told_of_when_it_is_down():
    for name in ("llm-proxy", "isogloss", "a" * 63):
        rendered = template(*EVERYTHING, "--set", f"fullnameOverride={name}")
        rules = [rule for group in only(rendered, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]
        (down,) = [rule["expr"] for rule in rules if rule.get("alert") == "IsoglossDown"]
        (jobs,) = re.findall(r'^up\{job=~"(.*)"\} == 0$', down)
        (metrics,) = [d for d in rendered if d["kind"] == "Service" and d["metadata"]["name"].endswith("-metrics")]
        # As prometheus-operator calls them, and as they are called elsewhere.
        monitored = [metrics["metadata"]["name"], f"models/{only(rendered, 'PodMonitor')['metadata']['name']}"]
        for job in [*monitored, "isogloss", "isogloss-pods", "models/my-isogloss"]:
            assert re.fullmatch(jobs, job), (jobs, job)
        assert not re.fullmatch(jobs, "models/llm-proxy-of-others"), jobs


def test_the_packaged_chart_is_whole(tmp_path):
    helm("package", CHART, "--destination", tmp_path)
    (package,) = Path(tmp_path).glob("isogloss-*.tgz")
    validate(documents(helm("template", "release", package, "--kube-version", "1.34", *EVERYTHING)))


def test_the_values_of_the_page_on_scaling_render():
    page = (DEPLOY.parent / "docs" / "scaling.md").read_text()
    blocks = [block for block in page.split("```yaml\n")[1:] if "upstream:" in block]
    assert len(blocks) == 2
    for block in blocks:
        text = block.split("```")[0]
        command = [tool("helm"), "template", "release", CHART, "--kube-version", "1.34", "--values", "-"]
        rendered = documents(run(*command, input=text).stdout)
        validate(rendered)
        assert "dialect" in only(rendered, "ConfigMap")["data"]["isogloss.toml"]
