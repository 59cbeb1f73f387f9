"""What every manifest must be, whoever rendered it: valid for the API server, and hardened."""

from __future__ import annotations

from typing import Any

import kubernetes_validate

# The oldest version that the manifests are for, and a new one.
VERSIONS = ("1.30", "1.34")
# Their schemas are not Kubernetes' own; those of gateways are tested by `test_gateway.py`.
OPERATOR = ("monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1", "inference.networking.k8s.io/v1")


def validate(documents: list[dict[str, Any]]) -> None:
    """Against the API server's own schemas, unknown fields included."""
    assert documents
    for document in documents:
        if document["apiVersion"] in OPERATOR:
            continue
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)
    names = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(set(names)) == len(names), names


def only(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [document for document in documents if document["kind"] == kind]
    return found


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def ports(container: dict[str, Any]) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container["ports"]}


def seconds(text: str) -> int:
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def assert_hardened(container: dict[str, Any], pod: dict[str, Any]) -> None:
    """The Pod Security Standard `restricted`, a root that cannot be written, and bounded memory."""
    context = {**pod.get("securityContext", {}), **container["securityContext"]}
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == context["runAsGroup"] == 65532
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["resources"]["requests"]["memory"] and container["resources"]["limits"]["memory"]


def assert_probed(container: dict[str, Any]) -> None:
    """Three probes that mean three things, all on the admin port."""
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    # Neither may depend on the server, which may load for minutes, or start only after the proxy has.
    assert paths == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    named = ports(container)
    for name in paths:
        assert named[container[name]["httpGet"]["port"]] == 9090
    assert environment(container)["ISOGLOSS_ADMIN"] == "0.0.0.0:9090", "the kubelet does not ask on loopback"
