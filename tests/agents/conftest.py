"""The built binary, and a stack for each run: a stand-in, isogloss in front of it, an agent's home and workplace."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENTS = ROOT / "tests" / "clients"
# The scripted servers and the pages of the client tests.
sys.path.append(str(CLIENTS))

# Their `conftest` has the name of this file.
_spec = importlib.util.spec_from_file_location("clients_conftest", CLIENTS / "conftest.py")
clients = importlib.util.module_from_spec(_spec)
sys.modules["clients_conftest"] = clients
_spec.loader.exec_module(clients)

from cases import Runs  # noqa: E402
from programs import PROGRAMS, is_installed  # noqa: E402

binary = clients.binary


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    wanted = [item.callspec.params["case"] for item in request.session.items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(3) as pool:
        yield Runs(
            {
                case: pool.submit(case.run, binary, tmp_path_factory.mktemp(case.id))
                for case in wanted
                if is_installed(PROGRAMS[case.program])
            }
        )
