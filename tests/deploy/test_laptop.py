"""What the pages say of a laptop: the manual, completions, the health check, compose and systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import pages
from conftest import DEPLOY, ROOT, Proxy, clean_environment, eventually, free_port, run, tool
from manifests import seconds

COMPOSE = DEPLOY / "compose.yaml"


def command_of(page: str, words: str) -> str:
    """The one command of a page that begins with these words."""
    shown = [command for block in pages.blocks("sh", page=page) for command in block.commands]
    (found,) = [command for command in shown if command.startswith(words)]
    return found


def shell(command: str, binary: Path, home: Path) -> str:
    """A line of a page, with this build as `isogloss` and a home of its own."""
    programs = home / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "isogloss").exists():
        (programs / "isogloss").symlink_to(binary)
    env = clean_environment({"HOME": str(home)})
    env["PATH"] = f"{programs}:{env['PATH']}"
    return run("bash", "-ec", command, env=env, cwd=home).stdout


# --- commands of docs/ (tests/deploy/test_pages.py runs the others) ---


def test_helm_takes_the_pages_command():
    command = command_of("docs/kubernetes.md", "helm")
    words = command.replace("helm install", f"{tool('helm')} template")
    rendered = run("bash", "-ec", words, cwd=ROOT).stdout
    assert 'url = "http://vllm:8000"' in rendered


def test_cargo_can_install_it_as_the_pages_say(binary):
    """Without building everything once more: the manifest has one program of that name, and a lock file."""
    import json

    metadata = run("cargo", "metadata", "--locked", "--no-deps", "--format-version=1", cwd=ROOT).stdout
    (package,) = [found for found in json.loads(metadata)["packages"] if found["name"] == "isogloss"]
    programs = [target["name"] for target in package["targets"] if "bin" in target["kind"]]
    assert programs == ["isogloss"]
    assert run(binary, "--version").stdout.strip() == f"isogloss {package['version']}"


def test_serve_in_front_of_a_server_on_a_port_of_this_machine(start):
    proxy = start("--upstream", "http://localhost:8000")
    eventually(lambda: proxy.get("/livez").status_code == 200, "alive")
    assert "http://localhost:8000" in proxy.get("/readyz").text


def test_prometheus_starts_with_the_pages_configuration(tmp_path):
    prometheus, address = tool("prometheus"), f"127.0.0.1:{free_port()}"
    command = [prometheus, f"--config.file={DEPLOY}/prometheus/prometheus.yml", f"--web.listen-address={address}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--storage.tsdb.path={tmp_path}/data"], stdout=log, stderr=log)
    try:
        eventually(lambda: httpx.get(f"http://{address}/-/ready").status_code == 200, "ready")
        rules = httpx.get(f"http://{address}/api/v1/rules").json()["data"]["groups"]
        assert {group["name"] for group in rules} == {"isogloss", "isogloss-alerts"}
    finally:
        process.terminate()
        process.wait(20)


def test_completions_complete_in_a_real_shell(binary, tmp_path):
    command = command_of("docs/install.md", "isogloss completions")
    folder = tmp_path / ".local/share/bash-completion/completions"
    folder.mkdir(parents=True)
    shell(command, binary, tmp_path)
    asked = """
        source ~/.local/share/bash-completion/completions/isogloss
        COMP_WORDS=(isogloss se) COMP_CWORD=1
        _isogloss isogloss se isogloss; echo "${COMPREPLY[@]}"
        COMP_WORDS=(isogloss serve --ups) COMP_CWORD=2
        _isogloss isogloss --ups serve; echo "${COMPREPLY[@]}"
    """
    assert shell(asked, binary, tmp_path).split() == ["serve", "--upstream"]


@pytest.mark.parametrize("kind", ["bash", "elvish", "fish", "powershell", "zsh"])
def test_every_shell_gets_a_script_that_knows_every_command(kind, binary):
    script = run(binary, "completions", kind).stdout
    for name in ("serve", "explain", "probe", "healthcheck"):
        assert name in script


def test_the_manual_pages_are_good_roff_and_name_every_flag(binary, tmp_path):
    command = command_of("docs/install.md", "isogloss man")
    shell(command, binary, tmp_path)
    pages = [tmp_path / "isogloss.1", tmp_path / "isogloss-serve.1"]
    flags = re.findall(r"^\s+(--[a-z-]+)", run(binary, "serve", "--help").stdout, re.M)
    assert len(flags) > 15
    text = pages[1].read_text().replace("\\-", "-")
    assert [flag for flag in flags if flag not in text] == []
    mandoc = tool("mandoc")
    for page in pages:
        run(mandoc, "-T", "lint", "-W", "error", page)
        assert "isogloss" in run(mandoc, "-T", "ascii", page).stdout


def test_a_page_of_a_command_that_is_not_there_is_a_usage_error(binary):
    done = subprocess.run([binary, "man", "swerve"], text=True, capture_output=True)
    assert done.returncode == 64 and "there is no command `swerve`" in done.stderr


# --- health ---


@pytest.fixture
def server() -> Any:
    from dialect_vllm import VllmNew

    found = VllmNew()
    yield found
    found.close()


def healthcheck(binary: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(binary), "healthcheck", *arguments]
    return subprocess.run(command, text=True, capture_output=True, env=clean_environment(env))


def test_healthcheck_tells_alive_from_ready(binary, start, server):
    proxy = start("--upstream", "http://127.0.0.1:9", "--probe", "off")
    eventually(lambda: proxy.get("/livez").status_code == 200, "alive")
    variables = {"ISOGLOSS_ADMIN": proxy.admin}
    assert healthcheck(binary, "--live", env=variables).returncode == 0
    done = healthcheck(binary, env=variables)
    assert done.returncode == 1 and "answers 503" in done.stderr and "127.0.0.1:9" in done.stderr
    usable = start("--upstream", server.url, "--probe", "off")
    usable.wait_ready()
    done = healthcheck(binary, "--admin", usable.admin)
    assert (done.returncode, done.stdout) == (0, "ok\n")


def test_healthcheck_names_the_address_where_nobody_answers(binary):
    port = free_port()
    done = healthcheck(binary, "--admin", f"0.0.0.0:{port}")
    assert done.returncode == 1 and f"127.0.0.1:{port}/readyz does not answer" in done.stderr
    assert healthcheck(binary, "--admin", "nowhere").returncode != 0


def upstream(proxy: Proxy) -> dict[str, Any]:
    (found,) = proxy.get("/readyz").json()["upstreams"]
    return found


def test_a_server_that_enforces_makes_the_proxy_ready(start, server):
    proxy = start("--upstream", server.url, "--probe", "light")
    proxy.wait_ready()
    assert upstream(proxy)["enforcement"] == "enforces"


def test_a_server_that_ignores_every_constraint_does_not(start, server):
    server.fail("prose", times=None)
    proxy = start("--upstream", server.url, "--probe", "light")
    eventually(lambda: upstream(proxy)["enforcement"] == "enforces_nothing", "it was asked")
    reply = proxy.get("/readyz")
    assert reply.status_code == 503
    assert upstream(proxy)["state"] == "ready" and "enforces nothing" in upstream(proxy)["reason"]
    # Whoever wants it all the same says so.
    careless = start("--upstream", server.url, "--probe", "off")
    careless.wait_ready()
    assert upstream(careless)["enforcement"] == "not_asked"


def test_a_ready_proxy_stays_so_when_its_server_comes_back_without_enforcing(start, server):
    proxy = start("--upstream", server.url, "--probe", "light")
    proxy.wait_ready()
    server.fail("prose", times=None)
    # Another model is asked anew, and an answer of 503 makes the proxy look at its server at once.
    server.model = "another"
    server.fail("unavailable")
    body = {"model": "another", "messages": [{"role": "user", "content": "x"}]}
    assert httpx.post(f"{proxy.base_url}/chat/completions", json=body).status_code == 503
    eventually(lambda: upstream(proxy)["enforcement"] == "enforces_nothing", "it was asked anew")
    assert proxy.get("/readyz").status_code == 200, "an alert tells; all replicas at once would be an outage"


def test_a_hook_waits_until_the_last_reply_has_ended(start, server):
    import threading
    import time

    proxy = start("--upstream", server.url, "--probe", "off")
    proxy.wait_ready()
    begun, over = time.monotonic(), []

    def hook() -> None:
        assert httpx.get(f"http://{proxy.admin}/drained", timeout=60).text == "drained\n"
        over.append(time.monotonic() - begun)

    waiting = threading.Thread(target=hook)
    waiting.start()
    body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}]}
    for _ in range(4):
        time.sleep(0.5)
        assert httpx.post(f"{proxy.base_url}/chat/completions", json=body).status_code == 200
    assert not over
    waiting.join(60)
    assert over


# --- compose and systemd ---


def test_compose_has_the_proxy_prometheus_and_grafana_and_every_file_it_mounts():
    compose = yaml.safe_load(COMPOSE.read_text())
    services = compose["services"]
    assert set(services) == {"isogloss", "prometheus", "grafana"}
    build = services["isogloss"]["build"]
    assert (COMPOSE.parent / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file() and build["target"] == "sidecar"
    for service in services.values():
        assert "build" in service or re.search(r":v?\d", service["image"]), "a version, never latest"
        for published in service["ports"]:
            assert published.startswith("127.0.0.1:"), "a laptop serves nobody else"
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert source in compose["volumes"] or (COMPOSE.parent / source).exists(), source
    scraped = yaml.safe_load((DEPLOY / "prometheus/compose.yml").read_text())
    (job,) = scraped["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    name, port = target.split(":")
    assert name in services and any(published.endswith(f":{port}") for published in services[name]["ports"])


def test_docker_reads_the_compose_file():
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "compose", "version"], capture_output=True).returncode != 0:
        pytest.skip("docker compose is not installed")
    run(docker, "compose", "-f", COMPOSE, "config", "--quiet")


def test_systemd_takes_the_unit(binary, tmp_path):
    analyze = tool("systemd-analyze")
    text = (DEPLOY / "systemd" / "isogloss.service").read_text()
    unit = tmp_path / "isogloss.service"
    # The program is not installed here, nor its manual.
    text = text.replace("/usr/local/bin/isogloss", str(binary)).replace("Documentation=man:isogloss(1)\n", "")
    unit.write_text(text)
    done = subprocess.run([analyze, "verify", unit], text=True, capture_output=True)
    said = [line for line in done.stderr.splitlines() if "isogloss" in line]
    assert done.returncode == 0 and not said, done.stderr
    score = subprocess.run([analyze, "security", "--offline=true", "--threshold=20", unit], capture_output=True)
    assert score.returncode == 0, score.stdout.decode()[-500:]


def test_the_units_patience_is_longer_than_the_default_drain():
    text = (DEPLOY / "systemd" / "isogloss.service").read_text()
    patience = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M)[1])
    reference = (ROOT / "docs" / "reference.md").read_text()
    drain = re.search(r"`ISOGLOSS_DRAIN_TIMEOUT` \| `(\w+)`", reference)[1]
    assert patience > seconds(drain)
    compose = yaml.safe_load(COMPOSE.read_text())
    assert seconds(compose["services"]["isogloss"]["stop_grace_period"]) > seconds(drain)
    # What starting again would not mend is not tried again: the exit codes of the program.
    assert "RestartPreventExitStatus=64 78" in text and "KillMode=mixed" in text
