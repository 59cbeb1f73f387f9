"""The manifests for the Gateway API, held against the schemas of its resources and those of its inference extension.

The schemas are neither Kubernetes' own nor in a package: `ISOGLOSS_CRDS` names folders (with colons between them) in which
they are found, such as checkouts of kubernetes-sigs/gateway-api and kubernetes-sigs/gateway-api-inference-extension."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from conftest import DEPLOY
from manifests import only, validate
from test_kubernetes import kustomize

FOLDER = DEPLOY / "kubernetes" / "gateway"
GROUPS = {"gateway.networking.k8s.io": {"Gateway", "HTTPRoute"}, "inference.networking.k8s.io": {"InferencePool"}}


@pytest.fixture(scope="module")
def rendered() -> list[dict[str, Any]]:
    return kustomize(FOLDER)


def named(documents: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [it for it in documents if (it["kind"], it["metadata"]["name"]) == (kind, name)]
    return found


def strict(schema: Any) -> Any:
    """As the API server reads a schema: what it does not name is not there."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    return schema


@pytest.fixture(scope="module")
def schemas() -> dict[tuple[str, str], Any]:
    """The schema of each version of each kind."""
    folders = os.environ.get("ISOGLOSS_CRDS")
    if not folders:
        print("skipped: ISOGLOSS_CRDS names no folder with the resources' schemas")
        pytest.skip("ISOGLOSS_CRDS is not set")
    found = {}
    for folder in folders.split(":"):
        for path in sorted(Path(folder).rglob("*.yaml")):
            # Those of the extension are no standard ones yet.
            if "experimental" in path.parts or "customresourcedefinition" not in path.read_text().lower():
                continue
            for document in yaml.safe_load_all(path.read_text()):
                if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
                    continue
                spec = document["spec"]
                for version in spec["versions"]:
                    schema = strict(version["schema"]["openAPIV3Schema"])
                    schema["properties"]["metadata"] = {"type": "object"}
                    found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def test_every_resource_is_valid_under_the_schema_of_its_kind(rendered, schemas):
    judged = [it for it in rendered if it["apiVersion"].split("/")[0] in GROUPS]
    kinds = {kind for group in GROUPS.values() for kind in group}
    assert {it["kind"] for it in judged} == kinds
    for document in judged:
        schema = schemas[document["apiVersion"], document["kind"]]
        jsonschema.Draft202012Validator(schema).validate(document)
        wrong = copy.deepcopy(document)
        wrong["spec"]["nonsense"] = 1
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong), "the schema takes anything"


def test_the_rest_is_valid_for_kubernetes(rendered):
    validate(rendered)


def test_clients_reach_isogloss_and_isogloss_the_pool(rendered):
    route = named(rendered, "HTTPRoute", "isogloss")["spec"]
    named(rendered, "Gateway", route["parentRefs"][0]["name"])
    (backend,) = route["rules"][0]["backendRefs"]
    service = only(rendered, "Service")
    assert backend["name"] == service["metadata"]["name"]
    assert backend["port"] in [port["port"] for port in service["spec"]["ports"]]

    inner = named(rendered, "HTTPRoute", "inference-engines")["spec"]
    gateway = named(rendered, "Gateway", inner["parentRefs"][0]["name"])
    config = only(rendered, "ConfigMap")["data"]["isogloss.toml"]
    assert f'url = "http://{gateway["metadata"]["name"]}"' in config
    assert gateway["metadata"]["name"] != route["parentRefs"][0]["name"], "clients would go round the proxy"
    # A gateway does not ask the Service, whose affinity brings who asked back to their pod.
    assert 'store = "none"' in config
    (backend,) = inner["rules"][0]["backendRefs"]
    pool = only(rendered, "InferencePool")
    assert (backend["kind"], backend["name"]) == ("InferencePool", pool["metadata"]["name"])
    # A gateway's own deadline would cut a long stream.
    assert {rule["timeouts"]["request"] for it in (route, inner) for rule in it["rules"]} == {"0s"}


def test_isogloss_takes_the_configuration(binary, rendered, tmp_path):
    from conftest import run

    file = tmp_path / "isogloss.toml"
    file.write_text(only(rendered, "ConfigMap")["data"]["isogloss.toml"])
    assert run(binary, "check", "--config", file).stdout.startswith("OK: ")
