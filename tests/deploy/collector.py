"""An OpenTelemetry collector: takes OTLP over HTTP as JSON, and reads it by the protocol's own definitions."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def read(body: bytes) -> ExportTraceServiceRequest:
    """Unknown fields and wrong types are errors. The ids are hexadecimal in OTLP, base64 in protobuf's JSON."""
    request = json.loads(body)
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(request, ExportTraceServiceRequest())


class Collector:
    """Listens on loopback; `status` is what it answers."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.paths: set[str] = set()
        self.status = 200
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    collector.take(self.path, body)
                except Exception as error:
                    collector.faults.append(f"{error}: {body[:500]!r}")
                self.send_response(collector.status)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes) -> None:
        self.paths.add(path)
        for resource in read(body).resource_spans:
            service = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert service["service.name"] == "isogloss"
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                values = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
                self.spans.append(
                    {
                        "trace": span.trace_id.hex(),
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "name": span.name,
                        "kind": span.kind,
                        "begin": span.start_time_unix_nano,
                        "end": span.end_time_unix_nano,
                        "error": span.status.code == 2,
                        "attributes": values,
                    }
                )

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
