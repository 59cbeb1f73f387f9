"""`deploy/ray` without Ray: that its two files fit each other and the program. `tests/ray/run` runs it on two nodes."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess

import yaml

from conftest import DEPLOY, ROOT, Proxy, run

FOLDER = DEPLOY / "ray"
SOURCE = (FOLDER / "isogloss_serve.py").read_text()


def constant(name: str) -> str:
    (found,) = re.findall(rf"^{name} = (.+)$", SOURCE, re.M)
    return found


def test_the_replica_reads_where_the_program_listens(start):
    proxy: Proxy = start()
    proxy.wait_ready()
    hello = ast.literal_eval(re.fullmatch(r"re\.compile\((.*)\)", constant("HELLO"))[1])
    found = re.search(hello, proxy.log.read_text())
    assert found and found.groups() == (proxy.base_url.removesuffix("/v1"), f"http://{proxy.admin}")


def test_the_program_ends_with_its_replica(tmp_path):
    """The shell's pipe closes when the replica dies, however it does."""
    with_us = ast.literal_eval(constant("WITH_US"))
    mark = tmp_path / "ended"
    program = f"trap 'echo > {shlex.quote(str(mark))}; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    command = ["/bin/sh", "-c", with_us, "sh", "/bin/sh", "-c", program]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    assert process.poll() is None and not mark.exists()
    process.stdin.close()
    process.wait(30)
    assert mark.exists()


def test_what_serve_deploys_is_what_is_there(binary):
    (application,) = yaml.safe_load((FOLDER / "serve.yaml").read_text())["applications"]
    module, name = application["import_path"].split(":")
    assert (FOLDER / f"{module}.py").is_file() and re.search(rf"^def {name}\(", SOURCE, re.M)
    (deployment,) = application["deployments"]
    assert re.search(rf"^class {deployment['name']}:", SOURCE, re.M)
    run(binary, "check", *shlex.split(application["args"]["flags"]))
    scaling = deployment["autoscaling_config"]
    assert scaling["target_ongoing_requests"] < deployment["max_ongoing_requests"] < 1024, "limits.concurrency"
    assert deployment["graceful_shutdown_timeout_s"] >= float(constant("ENDS_WITHIN")) > 600, "timeouts.drain"


def test_the_script_that_runs_it_takes_the_pages_flags():
    script = (ROOT / "tests" / "ray" / "run").read_text()
    page = (ROOT / "docs" / "scaling.md").read_text()
    commands = re.findall(r"^venv/bin/python tests/ray/run(.*)$", page, re.M)
    assert commands
    for flag in (word for command in commands for word in command.split() if word.startswith("--")):
        assert f'"{flag}"' in script
    for part in ("replicas", "engine", "daft"):
        assert f'"{part}": run_{part}' in script and part in page
    for file in (FOLDER / "isogloss_serve.py", *(ROOT / "tests" / "ray").glob("*.py"), ROOT / "tests" / "ray" / "run"):
        compile(file.read_text(), str(file), "exec")
    for package in ("daft", "openai", "ray[serve]"):
        assert f"{package}==" in (ROOT / "tests" / "ray" / "requirements.txt").read_text()
