"""The README's commands and those of docs/: each is run as it stands there, or named with the reason why it is not."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import pages
from conftest import DEPLOY, ROOT, Proxy, clean_environment
from dialect_llama_cpp import LlamaCpp
from dialect_vllm import VllmNew
from model import Turn

MODEL = ROOT / "tests" / "models" / "tiny-chat-q8_0.gguf"
# What a block may be in. One without a language is no command: a drawing, or an error's shape.
LANGUAGES = {"sh", "console", "python", "js", "toml", "json", "yaml", ""}
LAPTOP, IMAGE, HERE = "tests/deploy/test_laptop.py", "tests/deploy/test_image.py", "tests/deploy/test_pages.py"
BUILDS, DAEMON, MACHINE = "it builds for minutes", "it needs a daemon and a registry", "it changes the machine"
INSTALLED = "test_what_is_to_be_installed_is_what_the_image_installs"
CARGO = "test_cargo_can_install_it_as_the_pages_say"
ACCEPTANCE = "test_the_script_that_asks_real_servers_takes_the_pages_flags"
REAL = "it asks a real server hundreds of times"
RAY, RAY_FLAGS = "tests/deploy/test_ray.py", "test_the_script_that_runs_it_takes_the_pages_flags"
CLUSTER = "it makes a cluster, and takes minutes"
AGENT = re.compile(r"(?:^|\s)(?:claude|codex exec|gemini|opencode run|qwen) ")
# What is not run from here as it stands: the command, why, and the file and the name of the test that does its work.
ELSEWHERE = [
    (
        "apt-get install -y cmake g++ make libclang-dev && cargo run --release -- serve",
        MACHINE,
        "tests/clients/test_pages.py",
        "test_each_example_in_python_prints_what_it_says",
    ),
    ("apt-get install -y cmake g++ make libclang-dev", MACHINE, HERE, INSTALLED),
    ("./test", "it runs this test", HERE, "test_every_command_is_run_here_or_has_a_reason"),
    ("cargo build --release", BUILDS, LAPTOP, CARGO),
    (
        "benches/race/run --rounds 5 --seconds 60",
        "it takes minutes, and a release build",
        "tests/race/test_rounds.py",
        "test_a_number_is_the_median_of_its_rounds_and_stands_beside_nginx",
    ),
    (
        "benches/race/run --gateways all --rounds 3 --seconds 300",
        "it installs other gateways, and takes a quarter of an hour",
        "tests/race/test_rounds.py",
        "test_what_a_gateway_cannot_do_is_said_and_not_measured",
    ),
    (
        "benches/race/run --gateways all --rounds 1 --seconds 150 --saturation --slow-readers 64 --open 1000 --settle",
        "it installs other gateways, and takes a quarter of an hour",
        "tests/race/test_rounds.py",
        "test_what_crowds_do_stands_in_tables_of_its_own",
    ),
    (
        "benches/race/promise",
        "it installs other gateways",
        "tests/race/test_promise.py",
        "test_the_scripted_servers_do_as_they_are_called",
    ),
    ("cargo install --locked --path .", BUILDS, LAPTOP, CARGO),
    ("pip install .", BUILDS, IMAGE, "test_pip_puts_the_program_beside_the_client"),
    (
        "docker build -f deploy/Dockerfile --target sidecar -t isogloss:0.1.0 .",
        DAEMON,
        IMAGE,
        "test_every_build_is_locked_and_the_sidecars_is_the_one_that_is_tested_here",
    ),
    (
        "docker build -f deploy/Dockerfile --target sbom --output . .",
        DAEMON,
        IMAGE,
        "test_what_the_images_are_made_of_is_told_for_the_same_features",
    ),
    (
        "docker run --rm -p 127.0.0.1:8080:8080 --add-host host.docker.internal:host-gateway \\\n"
        "  isogloss:0.1.0 serve --upstream http://host.docker.internal:8000",
        DAEMON,
        HERE,
        "test_what_docker_is_told_to_run_is_what_the_image_is_made_for",
    ),
    (
        "docker compose -f deploy/compose.yaml up",
        DAEMON,
        LAPTOP,
        "test_compose_has_the_proxy_prometheus_and_grafana_and_every_file_it_mounts",
    ),
    (
        "prometheus --config.file=deploy/prometheus/prometheus.yml --web.listen-address=:9091",
        "it listens on every address",
        LAPTOP,
        "test_prometheus_starts_with_the_pages_configuration",
    ),
    (
        "isogloss completions bash > ~/.local/share/bash-completion/completions/isogloss",
        "it is run there",
        LAPTOP,
        "test_completions_complete_in_a_real_shell",
    ),
    (
        "isogloss man > isogloss.1 && isogloss man serve > isogloss-serve.1",
        "it is run there",
        LAPTOP,
        "test_the_manual_pages_are_good_roff_and_name_every_flag",
    ),
    (
        "helm install isogloss deploy/helm/isogloss --set 'config.upstream[0].url=http://vllm:8000'",
        "it needs a cluster",
        LAPTOP,
        "test_helm_takes_the_pages_command",
    ),
    ("python3 -m venv venv && venv/bin/pip install -r tests/acceptance/requirements.txt", MACHINE, HERE, ACCEPTANCE),
    ("venv/bin/python tests/acceptance/run http://localhost:8000", REAL, HERE, ACCEPTANCE),
    ("venv/bin/python tests/acceptance/run --proxy http://localhost:8080", REAL, HERE, ACCEPTANCE),
    ("python3 -m venv venv && venv/bin/pip install -r tests/ray/requirements.txt", MACHINE, RAY, RAY_FLAGS),
    ("venv/bin/python tests/ray/run replicas engine --requests 1000", CLUSTER, RAY, RAY_FLAGS),
    ("venv/bin/python tests/ray/run daft --rows 5000", CLUSTER, RAY, RAY_FLAGS),
    *(
        (command, "it is an agent program", "tests/agents/test_agents.py", "test_each_command_of_the_page_is_run")
        for block in pages.blocks("sh", page="docs/clients.md")
        for command in block.commands
        if AGENT.search(command)
    ),
]


@dataclass
class Desk:
    """A reader's place: a folder with the program and the pages' files in it, servers where the pages have theirs."""

    folder: Path
    start: Callable[..., Proxy]
    servers: dict[str, Any]

    def run(self, command: str, **addresses: str) -> subprocess.CompletedProcess[str]:
        """A command as a reader types it, with this machine's ports for `at_8000` and so on."""
        for name, address in addresses.items():
            port = name.removeprefix("at_")
            command = re.sub(rf"(http://)?(localhost|127\.0\.0\.1):{port}\b", address, command)
        env = clean_environment({"HOME": str(self.folder), "OPENAI_API_KEY": "sk-example"})
        env["PATH"] = f"{self.folder / 'programs'}:{env['PATH']}"
        return subprocess.run(
            ["bash", "-ec", command], text=True, capture_output=True, env=env, cwd=self.folder, timeout=120
        )

    def prints(self, command: str, **addresses: str) -> str:
        done = self.run(command, **addresses)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def serve(self, command: str) -> Proxy:
        """`… serve …`, ready, on ports of its own."""
        # The model that stands in for the pages' was made for shorter conversations.
        command = command.replace("--context 8192", "--context 4096")
        words = shlex.split(command.replace("http://localhost:8000", self.servers["vllm"].url))
        arguments = [str(self.folder / word) if word.endswith(".gguf") else word for word in words]
        proxy = self.start(*arguments[arguments.index("serve") + 1 :])
        proxy.wait_ready()
        return proxy


@pytest.fixture(scope="module")
def desk(binary: Path, start: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    for place in (folder / "programs", folder / "target" / "release"):
        place.mkdir(parents=True)
        (place / "isogloss").symlink_to(binary)
    (folder / "Qwen3-0.6B-Q8_0.gguf").symlink_to(MODEL)
    example, *_ = pages.blocks("toml", page="docs/operating.md")
    (folder / "isogloss.toml").write_text(example.text)
    answer = {"role": "assistant", "content": "positive"}
    reply = {"object": "chat.completion", "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    (folder / "reply.txt").write_text(json.dumps(reply))
    servers = {"vllm": VllmNew(), "llama.cpp": LlamaCpp()}
    found = Desk(folder, start, servers)
    for command in WRITES:
        found.prints(command)
    yield found
    for server in servers.values():
        server.close()


@pytest.fixture(scope="module")
def builtin(start: Any) -> Proxy:
    """With nothing named: the first command of the README."""
    proxy = start()
    proxy.wait_ready()
    return proxy


# --- what runs each command ---


def serves(desk: Desk, command: str, _: Proxy) -> None:
    assert httpx.get(f"{desk.serve(command).base_url}/models", timeout=30).status_code == 200


def is_an_address_of_a_hosted_api(desk: Desk, command: str, _: Proxy) -> None:
    """Nobody else's server is asked by a test; `tests/translation/wires.rs` speaks the wires."""
    assert "1 upstream" in desk.prints(command.replace("serve", "check"))


def asks_the_model_in_the_program(desk: Desk, command: str, builtin: Proxy) -> None:
    command = command.replace('"Qwen3-0.6B-Q8_0"', '"isogloss-builtin"')
    reply = json.loads(desk.prints(command, at_8080=builtin.base_url.removesuffix("/v1")))
    content = reply["choices"][0]["message"]["content"]
    if "request.json" in command:
        assert content == "positive"
    elif "person.json" in command:
        assert json.loads(content) == {"name": "Ada", "age": 36}
    else:
        assert isinstance(json.loads(content)["city"], str)


def writes_a_request(desk: Desk, command: str, _: Proxy) -> None:
    desk.prints(command)
    assert "messages" in json.loads((desk.folder / command.split()[-1]).read_text())


def writes_a_batch(desk: Desk, command: str, _: Proxy) -> None:
    desk.prints(command)
    assert json.loads((desk.folder / command.split()[-1]).read_text())["custom_id"] == "ada"


def answers_a_file(desk: Desk, command: str, _: Proxy) -> None:
    for printed in (r"^  ok +1 ", r"^stood already +1$"):
        assert re.search(printed, desk.prints(command), re.M)
    (row,) = map(json.loads, (desk.folder / command.split()[-1]).read_text().splitlines())
    assert (row["custom_id"], row["response"]["status_code"], row["error"]) == ("ada", 200, None)
    shown = pages.read("docs/batch.md")
    for field in (*row, *row["response"]):
        assert f"`{field}`" in shown


def explains(desk: Desk, command: str, _: Proxy) -> None:
    text = desk.prints(command, at_8000=desk.servers["vllm"].url)
    if "--json" in command:
        found = json.loads(text)
        assert found["strategy"] == "native" and "positive" in json.dumps(found["reply"])
    else:
        assert '"guided_choice"' in text and "native" in text
    # With a reply that breaks the contract, as the page says.
    if "--reply" in command:
        (desk.folder / "wrong.txt").write_text((desk.folder / "reply.txt").read_text().replace("positive", "so so"))
        wrong = desk.run(command.replace("reply.txt", "wrong.txt"), at_8000=desk.servers["vllm"].url)
        assert wrong.returncode == 1


def probes(desk: Desk, command: str, _: Proxy) -> None:
    server = desk.servers["llama.cpp"]
    server.reset(Turn(values={"zqx17": "vbk42"}, calls=("zqx17",)))
    text = desk.prints(command, at_8000=server.url)
    assert "llama.cpp (llama-cpp)" in text
    words = r"json_schema +json_schema +enforced +native"
    assert re.search(words, text), text


def asks_the_admin_port(desk: Desk, command: str, builtin: Proxy) -> None:
    asked = {"model": "isogloss-builtin", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1}
    assert httpx.post(f"{builtin.base_url}/chat/completions", json=asked, timeout=60).status_code == 200
    text = desk.prints(command, at_9090=f"http://{builtin.admin}")
    shown = re.search(r"^# (isogloss_requests_total)\{(.*?)\}", pages.read("docs/explain.md"), re.M)
    if "readyz" in command:
        assert json.loads(text)["ready"] is True
    else:
        for label in re.findall(r"(\w+)=", shown[2]):
            assert re.search(rf"^{shown[1]}\{{.*{label}=", text, re.M), text


def replays_what_was_recorded(desk: Desk, command: str, _: Proxy) -> None:
    proxy = desk.serve("isogloss serve --record bodies")
    asked = {
        "model": "isogloss-builtin",
        "messages": [{"role": "user", "content": "I really love this phone."}],
        "structured_outputs": {"choice": ["positive", "negative"]},
    }
    reply = httpx.post(f"{proxy.base_url}/chat/completions", json=asked, timeout=60)
    command = command.replace("ID", reply.headers["x-isogloss-request-id"])
    text = desk.prints(command, at_9090=f"http://{proxy.admin}")
    assert '"positive"' in text and "reply satisfies the contract" in text


def shows_the_proxy(desk: Desk, command: str, builtin: Proxy) -> None:
    text = desk.prints(command, at_9090=f"http://{builtin.admin}")
    assert "ready" in text and "the last requests" in text


def is_healthy_or_not(desk: Desk, command: str, builtin: Proxy) -> None:
    assert desk.prints(f"ISOGLOSS_ADMIN={builtin.admin} {command}") == "ok\n"
    assert desk.run(f"ISOGLOSS_ADMIN=127.0.0.1:9 {command}").returncode == 1


def checks_a_file(desk: Desk, command: str, _: Proxy) -> None:
    assert "2 upstreams" in desk.prints(command)
    (desk.folder / "wrong.toml").write_text("listne = 1\n[limits]\nbody_bytes = 'much'\n")
    wrong = desk.run(command.replace("isogloss.toml", "wrong.toml"))
    assert wrong.returncode == 78 and "listne" in wrong.stderr and "body_bytes" in wrong.stderr


def makes_a_key(desk: Desk, command: str, _: Proxy) -> None:
    made = desk.prints(command)
    (key,) = re.findall(r"^# (isg_\S+)$", made, re.M)
    assert f'key_sha256 = "{hashlib.sha256(key.encode()).hexdigest()}"' in made and 'name = "search-team"' in made


def measures(desk: Desk, command: str, _: Proxy) -> None:
    report = desk.prints(f"{command} --seconds 1")
    for words in ("pass-through", "tools, required", "stream, tools", "idle"):
        assert words in report


CURL = "curl -s http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' -d @"
WRITES = [command for block in pages.blocks("sh") for command in block.commands if command.startswith("echo ")]
# A key that ends in `…` is the beginning of one command.
RUNS: dict[str, Callable[[Desk, str, Proxy], None]] = {
    "cargo run --release -- serve --upstream http://localhost:8000": serves,
    "cargo run --release -- serve --model Qwen3-0.6B-Q8_0.gguf": serves,
    "isogloss serve --upstream http://localhost:8000": serves,
    "isogloss serve --model Qwen3-0.6B-Q8_0.gguf --slots 8 --context 8192": serves,
    "isogloss serve --upstream https://api.anthropic.com": is_an_address_of_a_hosted_api,
    "isogloss serve --upstream https://generativelanguage.googleapis.com": is_an_address_of_a_hosted_api,
    "isogloss serve --upstream https://generativelanguage.googleapis.com/v1beta/openai": is_an_address_of_a_hosted_api,
    f"{CURL}request.json": asks_the_model_in_the_program,
    f"{CURL}person.json": asks_the_model_in_the_program,
    "curl -s localhost:8080/v1/chat/completions -H …": asks_the_model_in_the_program,
    """echo '{"messages": [{"role": "user", "content": "I really love this phone."}],…""": writes_a_request,
    """echo '{"messages": [{"role": "user", "content": "Ada is 36 years old."}],…""": writes_a_request,
    """echo '{"custom_id": "ada",…""": writes_a_batch,
    "isogloss batch in.jsonl out.jsonl": answers_a_file,
    "isogloss explain --dialect vllm@0.10.2 --file request.json": explains,
    "isogloss explain --upstream http://localhost:8000 --file request.json --reply reply.txt --json": explains,
    "isogloss serve --upstream http://localhost:8000 --record bodies": serves,
    "isogloss explain --admin http://localhost:9090 --request ID": replays_what_was_recorded,
    "isogloss top --admin http://localhost:9090": shows_the_proxy,
    "isogloss probe http://localhost:8000": probes,
    "curl -s localhost:9090/metrics | grep isogloss_requests_total": asks_the_admin_port,
    "curl -s localhost:9090/readyz": asks_the_admin_port,
    "isogloss healthcheck": is_healthy_or_not,
    "isogloss check --config isogloss.toml": checks_a_file,
    "isogloss key new search-team": makes_a_key,
    "target/release/isogloss bench": measures,
}


def runner(command: str) -> str | None:
    """The key of what runs this command."""
    begun = [key for key in RUNS if key.endswith("…") and command.startswith(key[:-1])]
    return command if command in RUNS else next(iter(begun), None)


SHOWN = [(block.page, command) for block in pages.blocks("sh") for command in block.commands]
CONSOLES = [(block.page, *pair) for block in pages.blocks("console") for pair in block.outputs.items()]


# --- the tests ---


@pytest.mark.parametrize(("page", "command"), [pair for pair in SHOWN if runner(pair[1])])
def test_a_command_does_what_its_page_says(page: str, command: str, desk: Desk, builtin: Proxy) -> None:
    RUNS[runner(command)](desk, command, builtin)


@pytest.mark.parametrize(("page", "command", "shown"), CONSOLES)
def test_a_command_prints_what_its_page_shows(page: str, command: str, shown: str, desk: Desk) -> None:
    """Line by line, however wide its columns are; `…` stands for any lines, and the page's model for the server's."""
    server = desk.servers["llama.cpp"]
    server.reset(Turn(values={"zqx17": "vbk42"}, calls=("zqx17",)))
    text = desk.prints(command, at_8000=server.url)
    printed = [line.split() for line in text.splitlines()]
    skips = False
    for line in shown.replace("qwen3", server.model).splitlines():
        if line.strip() == "…":
            skips = True
            continue
        while skips and printed and printed[0] != line.split():
            printed.pop(0)
        assert printed and printed.pop(0) == line.split(), f"not printed, or elsewhere: {line}\n{text}"
        skips = False
    assert skips or not printed, f"more is printed than shown: say so with `…`\n{text}"


def test_every_command_is_run_here_or_has_a_reason() -> None:
    commands = {command for _, command in SHOWN}
    assert len(commands) > 25
    elsewhere = {command for command, *_ in ELSEWHERE}
    unknown = [command for command in commands if not runner(command) and command not in elsewhere]
    assert unknown == [], "run it in RUNS, or give the reason in ELSEWHERE"
    stale = (elsewhere - commands) | (set(RUNS) - {runner(command) for command in commands})
    assert stale == set(), "no page shows it any more"


@pytest.mark.parametrize(("command", "reason", "file", "test"), ELSEWHERE)
def test_what_is_not_run_here_has_a_test_that_is_there(command: str, reason: str, file: str, test: str) -> None:
    assert reason
    assert f"def {test}(" in (ROOT / file).read_text()


def test_a_block_is_in_a_language_that_is_tested() -> None:
    for block in pages.blocks():
        assert block.language in LANGUAGES, f"{block.page}: a block of `{block.language}`, which no test reads"
        if block.language == "":
            assert not re.search(r"^\s*\$ ", block.text, re.M), f"{block.page}: write it in a `console`"
    homes = {language: {block.page for block in pages.blocks(language)} for language in ("python", "js", "yaml")}
    assert homes["python"] | homes["js"] == {"README.md", "docs/clients.md"}, "tests/clients/test_pages.py runs those"
    assert homes["yaml"] == {"docs/kubernetes.md", "docs/scaling.md"}, "test_kubernetes.py, test_helm.py render those"
    for block in pages.blocks("yaml"):
        assert yaml.safe_load(block.text)


def test_commands_are_found_whole_and_without_comments() -> None:
    text = "# no\na b  # why\n\nc '{\n # kept\n}' \nd \\\n  e\n"
    assert pages.split(text) == ["a b", "c '{\n # kept\n}'", "d \\\n  e"]
    assert runner("isogloss healthcheck --quietly") is None
    with pytest.raises(AssertionError):
        pages.split("a 'b\n")


@pytest.mark.parametrize("page", pages.pages())
def test_commands_in_the_text_of_a_page_have_subcommands_and_flags_that_exist(page: str, binary: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", pages.read(page), flags=re.S | re.M)
    for words in re.findall(r"`(isogloss [^`]+)`", text):
        _, name, *rest = words.split()
        done = subprocess.run([binary, name, "--help"], text=True, capture_output=True)
        assert done.returncode == 0, f"{page}: {words}"
        for flag in (word for word in rest if word.startswith("--")):
            assert flag in done.stdout, f"{page}: {words}"


def test_what_the_readme_says_in_a_table_is_what_a_page_shows() -> None:
    readme = pages.read("README.md")
    rows = re.findall(r"^\| (?:a |\[).*?\| (.*) \|$", readme, re.M)
    assert len(rows) > 8
    sources = pages.blocks(page="docs/install.md") + pages.blocks(page="docs/clients.md")
    shown = re.sub(r"\s+", "", "".join(block.text for block in sources))
    for code in (code for row in rows for code in re.findall(r"`([^`]+)`", row)):
        # Names of files, programs and types are named for themselves.
        if re.search(r"[=({ ]", code) and code != "helm install":
            assert re.sub(r"\s+", "", code) in shown, code


def test_what_is_to_be_installed_is_what_the_image_installs() -> None:
    for page in ("README.md", "docs/install.md"):
        (asked,) = re.findall(r"apt-get install -y ([^&\n]+)", pages.read(page))
        assert f"--no-install-recommends {asked.strip()} " in (DEPLOY / "Dockerfile").read_text()


def test_what_docker_is_told_to_run_is_what_the_image_is_made_for(desk: Desk) -> None:
    (command,) = [command for _, command in SHOWN if command.startswith("docker run")]
    words = shlex.split(command)
    image = words.index("isogloss:0.1.0")
    exposed = re.search(r"AS sidecar.*?EXPOSE (\d+)", (DEPLOY / "Dockerfile").read_text(), re.S)[1]
    assert f"127.0.0.1:8080:{exposed}" in words[:image]
    desk.serve(shlex.join(words[image + 1 :]).replace("http://host.docker.internal:8000", "http://localhost:8000"))


def test_the_script_that_asks_real_servers_takes_the_pages_flags() -> None:
    asked = [command for _, command in SHOWN if "tests/acceptance/run" in command]
    script = ROOT / "tests" / "acceptance" / "run"
    usage = subprocess.run([sys.executable, script, "--help"], text=True, capture_output=True, check=True).stdout
    for command in asked:
        for flag in (word for word in shlex.split(command) if word.startswith("--")):
            assert flag in usage
    named = (script.parent / "requirements.txt").read_text()
    for package in ("jsonschema", "openai", "pydantic-ai"):
        assert package in named
