"""The images: the static binary that the target `sidecar` carries is built, checked and served with; the
Dockerfile is linted. No container is started."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from conftest import DEPLOY, QUICK, ROOT, eventually, free_port, run, tool

DOCKERFILE = DEPLOY / "Dockerfile"
MOST_BYTES = 26_000_000
NOBODY = 65532


def stages() -> dict[str, list[str]]:
    """The instructions of each stage, by its name."""
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if named := re.match(r"FROM (\S+) AS (\S+)", line):
            lines = found[named[2]] = [f"FROM {named[1]}"]
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


# --- the static binary ---


def test_the_static_binary_needs_no_library(static_binary):
    header = run("readelf", "--program-headers", static_binary).stdout
    assert "INTERP" not in header, "a program that names a loader is not static"
    assert "(NEEDED)" not in run("readelf", "--dynamic", static_binary).stdout


@pytest.mark.skipif(QUICK, reason="what is shipped is not built: ISOGLOSS_DIST=1")
def test_the_static_binary_is_small(static_binary):
    assert static_binary.stat().st_size <= MOST_BYTES


def test_the_static_binary_serves(static_binary, start):
    from dialect_vllm import VllmNew
    from helpers import PARIS, City, chat_model
    from model import Turn
    from pydantic_ai import Agent
    from traffic import client

    server = VllmNew()
    server.reset(Turn(values=PARIS, calls=("final_result",)))
    try:
        proxy = start("--upstream", server.url, program=static_binary)
        proxy.wait_ready()
        assert Agent(chat_model(client(proxy)), output_type=City).run_sync("Where?").output == City(**PARIS)
        assert proxy.stop() == 0
    finally:
        server.close()


def test_it_serves_as_a_stranger_who_can_write_nowhere(static_binary, tmp_path):
    """As in the image: uid 65532, no capability, no file of the system in reach but its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user in another root")
    root = tmp_path / "root"
    root.mkdir()
    os.chmod(tmp_path, 0o755)
    os.chmod(tmp_path.parent, 0o755)
    os.chmod(tmp_path.parent.parent, 0o755)
    (root / "isogloss").write_bytes(static_binary.read_bytes())
    os.chmod(root / "isogloss", 0o555)
    os.chmod(root, 0o555)

    listen, admin = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    jail = [tool("chroot"), f"--userspec={NOBODY}:{NOBODY}", str(root), "/isogloss"]
    env = {"ISOGLOSS_LISTEN": listen, "ISOGLOSS_ADMIN": admin}
    serve = [*jail, "serve", "--upstream", "http://127.0.0.1:9"]
    process = subprocess.Popen(serve, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: httpx.get(f"http://{admin}/livez").status_code == 200, "alive")
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(rf"^Uid:\s+{NOBODY}\s+{NOBODY}", status, re.M), status
        # The image's own HEALTHCHECK finds the admin port by the same variables.
        live = subprocess.run([*jail, "healthcheck", "--live"], env=env, text=True, capture_output=True)
        assert (live.returncode, live.stdout) == (0, "ok\n"), live.stderr
        ready = subprocess.run([*jail, "healthcheck"], env=env, text=True, capture_output=True)
        assert ready.returncode == 1 and "answers 503" in ready.stderr
    finally:
        process.terminate()
        assert process.wait(20) == 0


# --- the wheel, which carries the same binary ---


def test_pip_puts_the_program_beside_the_client(wheel, tmp_path):
    import venv

    # Static: whatever the C library is, and however old.
    assert "manylinux" in wheel.name or "musllinux" in wheel.name
    venv.create(tmp_path, with_pip=True)
    run(tmp_path / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", wheel)
    program = tmp_path / "bin" / "isogloss"
    version = run(program, "--version").stdout
    assert version.split()[0] == "isogloss" and version.split()[1] in wheel.name
    assert "vLLM" in run(program, "dialects").stdout
    (metadata,) = tmp_path.glob("lib/python*/site-packages/isogloss-*.dist-info/METADATA")
    assert "License-Expression: Apache-2.0" in metadata.read_text()


# --- the Dockerfile ---


def test_the_dockerfile_passes_its_linter():
    # DL3008: versions of Debian's packages are those of the base image's release.
    run(tool("hadolint"), "--ignore", "DL3008", DOCKERFILE)


@pytest.mark.parametrize("target", ["sidecar", "worker", "cuda"])
def test_every_image_runs_as_a_numbered_stranger_and_checks_itself(target):
    lines = stages()[target]
    assert f"USER {NOBODY}:{NOBODY}" in lines
    (check,) = [line for line in lines if line.startswith("HEALTHCHECK")]
    assert check.endswith('CMD ["/usr/local/bin/isogloss", "healthcheck"]'), "a check without a shell"
    (entry,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("ENTRYPOINT")]
    (command,) = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("CMD")]
    assert entry == ["/usr/local/bin/isogloss"] and command[0] == "serve"
    assert "ENV ISOGLOSS_LISTEN=0.0.0.0:8080 ISOGLOSS_ADMIN=0.0.0.0:9090" in lines


def test_the_sidecars_image_has_no_shell_and_only_the_binary():
    lines = stages()["sidecar"]
    assert lines[0] == "FROM gcr.io/distroless/static-debian12:nonroot"
    assert not [line for line in lines if line.startswith("RUN")], "there is no shell to run anything"
    assert [line for line in lines if line.startswith("COPY")] == [
        "COPY --from=build-sidecar /out/isogloss /usr/local/bin/isogloss"
    ]


def test_every_build_is_locked_and_the_sidecars_is_the_one_that_is_tested_here():
    text = DOCKERFILE.read_text()
    builds = re.findall(r"cargo build .*", text)
    assert len(builds) == 3 and all("--locked --profile dist" in build for build in builds)
    (build,) = [line for line in stages()["build-sidecar"] if "cargo build" in line]
    for part in ("--no-default-features", "-unknown-linux-musl", "--bin isogloss"):
        assert part in build
    assert "ENV CARGO_PROFILE_DIST_STRIP=symbols" in stages()["build-sidecar"]


def test_what_the_images_are_made_of_is_told_for_the_same_features():
    (told,) = [line for line in stages()["build-sbom"] if "cargo cyclonedx" in line]
    of_worker, of_sidecar = told.split("&&")[:2]
    (build,) = [line for line in stages()["build-sidecar"] if "cargo build" in line]
    for part in ("--no-default-features", "--features jemalloc", "-unknown-linux-musl"):
        assert part in build and part in of_sidecar and part not in of_worker


def test_what_the_images_are_built_from_is_in_the_context():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    needed = ["/src", "/crates", "/rules", "/benches", "/Cargo.toml", "/Cargo.lock", "/.cargo", "/README.md"]
    assert not set(ignored) & set(needed)
