"""Turns as OpenTelemetry traces and metrics, at a real receiver of OTLP over HTTP."""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from conftest import Bench
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WRITE = Call("writeFile", {"path": "new.txt", "content": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"})


class Collector:
    """What was received, decoded."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.url = ""

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(facts(resource.resource.attributes))
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        else:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics += [metric for scope in resource.scope_metrics for metric in scope.metrics]

    def named(self, beginning: str) -> list[Any]:
        return [span for span in self.spans if span.name.startswith(beginning)]

    @property
    def env(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.take(self.path, gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield collector
        server.shutdown()
        thread.join()


def facts(attributes: Any) -> dict[str, Any]:
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        said = getattr(each.value, kind)
        found[each.key] = [item.string_value for item in said.values] if kind == "array_value" else said
    return found


def test_a_turn_its_requests_and_its_tools_are_one_trace(bench: Bench) -> None:
    script = [Turn("Reading.", [WRITE, Call("readFile", {"path": "none.txt"})]), Turn("The secret answer.")]
    with collecting() as collector, ScriptedModel(script) as server:
        ran = bench.run(
            "nebula", "-p", "a private prompt", "--yes", "--output-format", "json", **server.env() | collector.env
        )
    assert ran.code == 0 and ran.err == "", ran.err
    (turn,) = collector.named("invoke_agent")
    assert turn.trace_id.hex() == json.loads(ran.out)["node_id"].replace("-", ""), "the id is that of the turn"
    about = facts(turn.attributes)
    assert (about["gen_ai.agent.name"], about["gen_ai.operation.name"]) == ("nebula", "invoke_agent")
    assert (about["gen_ai.provider.name"], about["gen_ai.request.model"]) == ("openai", "gpt-4.1-nano")
    assert about["nebula.status"] == "ok" and about["nebula.files_changed"] == 1 and turn.status.code == 0
    chats = collector.named("chat gpt-4.1-nano")
    assert [facts(chat.attributes)["gen_ai.response.finish_reasons"] for chat in chats] == [["tool_call"], ["stop"]]
    assert all(facts(chat.attributes)["gen_ai.usage.input_tokens"] == 100 for chat in chats)
    assert about["gen_ai.usage.input_tokens"] == 200
    wrote, read = collector.named("execute_tool writeFile") + collector.named("execute_tool readFile")
    assert facts(wrote.attributes)["gen_ai.tool.name"] == "writeFile" and wrote.status.code == 0
    assert facts(read.attributes)["error.type"] == "tool_error" and read.status.code == 2
    for span in (*chats, wrote, read):
        assert (span.trace_id, span.parent_span_id) == (turn.trace_id, turn.span_id)
        assert turn.start_time_unix_nano - 1_000_000_000 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= turn.end_time_unix_nano
    assert collector.resources[0]["service.name"] == "nebula"
    told = b"".join(collector.bodies)
    for private in (b"private prompt", b"secret answer", b"sk-proj", b"new.txt"):
        assert private not in told


def test_metrics_count_seconds_and_tokens(bench: Bench) -> None:
    with collecting() as collector, ScriptedModel([Turn("", [WRITE]), Turn("Done.")]) as server:
        bench.run("nebula", "-p", "go", "--yes", OTEL_SERVICE_NAME="mine", **server.env() | collector.env)
    points = {
        metric.name: [(facts(point.attributes), point) for point in metric.histogram.data_points]
        for metric in collector.metrics
    }
    seconds = points["gen_ai.client.operation.duration"]
    assert sorted(about["gen_ai.operation.name"] for about, _ in seconds) == ["chat", "execute_tool", "invoke_agent"]
    assert next(point.count for about, point in seconds if about["gen_ai.operation.name"] == "chat") == 2
    tokens = {about["gen_ai.token.type"]: point.sum for about, point in points["gen_ai.client.token.usage"]}
    assert tokens == {"input": 200, "output": 40}
    assert collector.resources[0]["service.name"] == "mine"


def test_what_was_said_is_told_only_where_it_is_asked_for_and_without_secrets(bench: Bench) -> None:
    script = [Turn("", [WRITE]), Turn("The answer.")]
    with collecting() as collector, ScriptedModel(script) as server:
        env = {**server.env(), **collector.env, CAPTURE: "true"}
        bench.run("nebula", "-p", "a prompt", "--yes", **env)
        key = server.env()["OPENAI_API_KEY"]
    (turn,) = collector.named("invoke_agent")
    about = facts(turn.attributes)
    assert "a prompt" in about["gen_ai.input.messages"] and "The answer." in about["gen_ai.output.messages"]
    (wrote,) = collector.named("execute_tool")
    assert json.loads(facts(wrote.attributes)["gen_ai.tool.call.arguments"])["path"] == "new.txt"
    told = b"".join(collector.bodies)
    assert b"sk-proj-abcdef" not in told and key.encode() not in told


def test_a_turn_that_fails_is_an_error(bench: Bench) -> None:
    with collecting() as collector, ScriptedModel([Turn(fault=Fault.status_code(401))]) as server:
        assert bench.run("nebula", "-p", "go", **server.env() | collector.env).code == 1
    (turn,) = collector.named("invoke_agent")
    assert turn.status.code == 2 and facts(turn.attributes)["error.type"] not in ("", "ok")


def test_a_collector_that_is_not_there_costs_nothing(bench: Bench) -> None:
    with ScriptedModel([Turn("Done.")]) as server:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        ran = bench.run("nebula", "-p", "go", **server.env() | env)
    assert (ran.code, ran.out) == (0, "Done.\n") and ran.err.count("\n") <= 1 and "rror" not in ran.err


def test_nothing_of_it_is_loaded_where_no_collector_is_set(bench: Bench) -> None:
    program = (
        "import sys; from nebula.cli.nebula import main; code = main(['-p', 'go']); "
        "sys.exit(code or 9 * any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    import subprocess

    with ScriptedModel([Turn("Done."), Turn("Done.")]) as server, collecting() as collector:
        for more, code in (({}, 0), (collector.env, 9)):
            env = bench.env(**server.env() | more)
            ran = subprocess.run([sys.executable, "-c", program], cwd=bench.project, env=env, capture_output=True)
            assert ran.returncode == code, ran.stderr
