"""The kustomizations, rendered by kubectl and validated against Kubernetes' own schemas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import DEPLOY, ROOT, documents, eventually, run, tool
from manifests import assert_hardened, assert_probed, environment, only, ports, seconds, validate

KUBERNETES = DEPLOY / "kubernetes"
# The port that the server had, and where the sidecar sends it.
OVERLAYS = {"vllm": (8000, 8001), "sglang": (30000, 30001), "llama-cpp": (8080, 8081)}


def kustomize(folder: Path) -> list[dict[str, Any]]:
    return documents(run(tool("kubectl"), "kustomize", folder).stdout)


def sidecar_of(rendered: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The pod, the sidecar in it, and the server."""
    pod = only(rendered, "Deployment")["spec"]["template"]["spec"]
    (sidecar,) = pod["initContainers"]
    (server,) = pod["containers"]
    return pod, sidecar, server


def last_flag(arguments: list[str], flag: str) -> str:
    """The value that holds: the last one."""
    text = " ".join(arguments) + " "
    return re.findall(rf"{flag}[= ](\S+) ", text)[-1]


@pytest.mark.parametrize("folder", ["base", *(f"overlays/{name}" for name in OVERLAYS)])
def test_every_kustomization_renders_to_valid_objects(folder):
    validate(kustomize(KUBERNETES / folder))


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_sidecar_takes_the_servers_port_so_that_service_and_clients_stay(name):
    public, shifted = OVERLAYS[name]
    rendered = kustomize(KUBERNETES / "overlays" / name)
    pod, sidecar, server = sidecar_of(rendered)
    given = environment(sidecar)
    assert given["ISOGLOSS_LISTEN"] == f"0.0.0.0:{public}"
    assert given["ISOGLOSS_UPSTREAM"] == f"http://127.0.0.1:{shifted}"
    assert ports(sidecar) == {"isogloss": public, "isogloss-admin": 9090}
    assert last_flag(server["args"], "--port") == str(shifted)
    assert last_flag(server["args"], "--host") == "127.0.0.1", "nobody goes round the sidecar"
    # The Service is the user's own file, and still leads to that port.
    service = only(rendered, "Service")
    assert service == yaml.safe_load((KUBERNETES / "overlays" / name / "service.yaml").read_text())
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] == "http" and ports(server)["http"] == public
    names = [entry["name"] for container in (sidecar, server) for entry in container["ports"]]
    assert len(set(names)) == len(names), "a port's name may stand once in a pod"


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_sidecar_is_a_native_one_hardened_and_probed(name):
    pod, sidecar, server = sidecar_of(kustomize(KUBERNETES / "overlays" / name))
    assert sidecar["restartPolicy"] == "Always"
    assert_hardened(sidecar, {})
    assert_probed(sidecar)


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_pod_ends_when_the_longest_generation_has(name):
    pod, sidecar, server = sidecar_of(kustomize(KUBERNETES / "overlays" / name))
    # The server's hook waits for the last reply, and the grace is longer than the drain.
    assert server["lifecycle"]["preStop"]["httpGet"] == {"path": "/drained", "port": 9090}
    drain = seconds(environment(sidecar)["ISOGLOSS_DRAIN_TIMEOUT"])
    assert drain >= 600
    assert pod["terminationGracePeriodSeconds"] >= drain + 30


OWN = "/spec/template/spec/containers/0/lifecycle"
GRACE = "/spec/template/spec/terminationGracePeriodSeconds"


def deployed() -> dict[str, Any]:
    """A server's Deployment, as its operators have it."""
    return yaml.safe_load((KUBERNETES / "overlays" / "vllm" / "deployment.yaml").read_text())


def with_component(tmp_path: Path, deployment: dict[str, Any], *patches: dict[str, Any]) -> list[dict[str, Any]]:
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(deployment))
    (tmp_path / "isogloss").symlink_to(ROOT, target_is_directory=True)
    kustomization = {
        "resources": ["deployment.yaml"],
        "components": ["isogloss/deploy/kubernetes/components/sidecar"],
        "patches": [{"target": {"kind": "Deployment"}, "patch": yaml.safe_dump([patch])} for patch in patches],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    rendered = kustomize(tmp_path)
    validate(rendered)
    return rendered


def beside(tmp_path: Path, hooks: dict[str, Any], *patches: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod and the server in it, of a Deployment that has hooks and a grace of its own, with the component and patches behind it."""
    deployment = deployed()
    pod = deployment["spec"]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 7200
    pod["containers"][0]["lifecycle"] = hooks
    pod, _, server = sidecar_of(with_component(tmp_path, deployment, *patches))
    return pod, server


def test_a_sidecar_gets_the_page_s_file_and_no_other_server(tmp_path, binary):
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    (more,) = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.S) if "configMapGenerator" in block]
    with_component(tmp_path, deployed())
    text = '[[upstream]]\nurl = "http://127.0.0.1:8001"\nmax_in_flight = 8\n'
    (tmp_path / "isogloss.toml").write_text(text)
    kustomization = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({**kustomization, **more}))
    rendered = kustomize(tmp_path)
    validate(rendered)
    pod, sidecar, _ = sidecar_of(rendered)
    given, config = environment(sidecar), only(rendered, "ConfigMap")
    assert "ISOGLOSS_UPSTREAM" not in given and given["ISOGLOSS_LISTEN"] == "0.0.0.0:8000"
    (mount,) = sidecar["volumeMounts"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    assert volume["configMap"]["name"] == config["metadata"]["name"], "its name has its hash"
    folder, _, name = given["ISOGLOSS_CONFIG"].rpartition("/")
    assert (mount["mountPath"], config["data"]) == (folder, {name: text})
    done = run(binary, "check", env={**given, "ISOGLOSS_CONFIG": str(tmp_path / "isogloss.toml")})
    assert "1 upstream" in done.stdout and "not used" not in done.stderr


def test_the_server_is_scraped_as_before_and_the_page_s_monitor_finds_both_ports(tmp_path):
    deployment = deployed()
    own = {"prometheus.io/scrape": "true", "prometheus.io/port": "8000", "prometheus.io/path": "/metrics"}
    deployment["spec"]["template"]["metadata"]["annotations"] = own
    rendered = with_component(tmp_path, deployment)
    _, sidecar, _ = sidecar_of(rendered)
    template = only(rendered, "Deployment")["spec"]["template"]
    assert template["metadata"]["annotations"] == own
    assert environment(sidecar)["ISOGLOSS_FORWARD"] == "/metrics", "what they name is the server's"
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    (monitor,) = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.S) if "PodMonitor" in block]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    named = {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]}
    assert named == set(ports(sidecar))


def test_hooks_of_the_servers_own_stay_beside_the_components(tmp_path):
    own = {"exec": {"command": ["warm-up"]}}
    _, server = beside(tmp_path, {"postStart": own, "preStop": {"exec": {"command": ["sleep", "5"]}}})
    assert server["lifecycle"]["postStart"] == own
    # Two handlers: the API server refuses them, and none is lost.
    assert set(server["lifecycle"]["preStop"]) == {"exec", "httpGet"}


@pytest.mark.parametrize("gone, stays", [("exec", "httpGet"), ("httpGet", "exec")])
def test_a_patch_behind_the_component_has_the_last_word(tmp_path, gone, stays):
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    assert f'{OWN}/preStop/exec"' in page and f'"{GRACE}", "value": 7200' in page
    hooks = {"preStop": {"exec": {"command": ["sleep", "5"]}}}
    remove = {"op": "remove", "path": f"{OWN}/preStop/{gone}"}
    pod, server = beside(tmp_path, hooks, remove, {"op": "replace", "path": GRACE, "value": 7200})
    assert set(server["lifecycle"]["preStop"]) == {stays}
    assert pod["terminationGracePeriodSeconds"] == 7200


def test_two_servers_with_sidecars_are_one_kustomization(tmp_path):
    (tmp_path / "kubernetes").symlink_to(KUBERNETES, target_is_directory=True)
    resources = [f"kubernetes/overlays/{name}" for name in OVERLAYS]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"resources": resources}))
    rendered = kustomize(tmp_path)
    deployments = [document for document in rendered if document["kind"] == "Deployment"]
    assert len(deployments) == len(OVERLAYS)
    for deployment in deployments:
        (server,) = deployment["spec"]["template"]["spec"]["containers"]
        assert server["lifecycle"]["preStop"] == {"httpGet": {"path": "/drained", "port": 9090}}


def test_the_base_is_hardened_probed_and_drained():
    rendered = kustomize(KUBERNETES / "base")
    deployment = only(rendered, "Deployment")
    template = deployment["spec"]["template"]
    pod, (container,) = template["spec"], template["spec"]["containers"]
    assert_hardened(container, pod)
    assert_probed(container)
    assert pod["automountServiceAccountToken"] is False
    hook = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    config = only(rendered, "ConfigMap")
    assert re.fullmatch(r"isogloss-[a-z0-9]{10}", config["metadata"]["name"]), "its name has its hash"
    (volume,) = pod["volumes"]
    assert volume["configMap"]["name"] == config["metadata"]["name"]
    drain = re.search(r'drain = "(\w+)"', config["data"]["isogloss.toml"])[1]
    assert pod["terminationGracePeriodSeconds"] > hook + seconds(drain)
    # Service, budget and policy select these pods, and only the data port is served.
    labels = template["metadata"]["labels"]
    selectors = [
        deployment["spec"]["selector"]["matchLabels"],
        only(rendered, "Service")["spec"]["selector"],
        only(rendered, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        only(rendered, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector and selector.items() <= labels.items()
    assert [port["targetPort"] for port in only(rendered, "Service")["spec"]["ports"]] == ["http"]
    # Each pod has the replies of Responses that it made.
    assert deployment["spec"]["replicas"] == 1 or only(rendered, "Service")["spec"]["sessionAffinity"] == "ClientIP"


def test_the_bases_configuration_is_one_that_the_proxy_takes(binary):
    done = run(binary, "check", "--config", KUBERNETES / "base" / "isogloss.toml")
    assert "1 upstream" in done.stdout


def test_the_environment_of_the_sidecar_is_one_that_the_proxy_takes(start):
    _, sidecar, _ = sidecar_of(kustomize(KUBERNETES / "overlays" / "vllm"))
    given = environment(sidecar)
    # The ports are this machine's, the rest is as in the cluster; flags win over variables.
    proxy = start(env=given)
    assert sidecar["args"] == ["serve"]
    for path in (sidecar[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe")):
        eventually(lambda path=path: proxy.get(path).status_code == 200, path)
    assert proxy.get(sidecar["readinessProbe"]["httpGet"]["path"]).status_code == 503, "no server is there"


def test_five_lines_of_the_page_put_a_sidecar_beside_a_server(tmp_path):
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    section = page.split("## Sidecar in five lines")[1].split("\n## ")[0]
    (block,) = re.findall(r"```yaml\n(.*?)```", section, re.S)
    lines = [line for line in block.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 5
    # In a folder of its own, beside the user's files; the component is where the repository is.
    for name in ("deployment.yaml", "service.yaml"):
        (tmp_path / name).write_text((KUBERNETES / "overlays" / "vllm" / name).read_text())
    (tmp_path / "isogloss").symlink_to(ROOT, target_is_directory=True)
    (tmp_path / "kustomization.yaml").write_text(block)
    rendered = kustomize(tmp_path)
    validate(rendered)
    _, sidecar, server = sidecar_of(rendered)
    assert environment(sidecar)["ISOGLOSS_UPSTREAM"] == "http://127.0.0.1:8001"
    assert last_flag(server["args"], "--port") == "8001"
    assert last_flag(server["args"], "--host") == "127.0.0.1", "nobody goes round the sidecar"
