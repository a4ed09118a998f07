"""Send events to a collector: OTLP over HTTP, configured by OpenTelemetry's own variables."""

from __future__ import annotations

import logging
import os
from typing import Any, cast

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from nebula import __version__
from nebula.agent.telemetry.turns import TelemetryReader, TurnIds

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
TIMEOUT_S = 2.0
"""How long the end of the process waits for a collector that does not answer, unless a variable sets it."""
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT")
_YES = ("true", "1", "span_only", "span_and_event")


def open_reader() -> TelemetryReader:
    """Return a reader that exports in the background; the rest is sent when the process ends. A collector that does not
    answer delays no turn and prints nothing."""
    log = logging.getLogger("opentelemetry")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    known = Resource({"service.name": "nebula", "service.version": __version__})
    resource = known.merge(OTELResourceDetector().detect())
    ids = TurnIds()
    limit = None if any(os.environ.get(each) for each in _TIMEOUTS) else TIMEOUT_S
    tracers = TracerProvider(resource=resource, id_generator=cast("Any", ids))
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=limit)))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(timeout=limit))], resource)
    capture = os.environ.get(CAPTURE, "").strip().lower() in _YES
    return TelemetryReader(tracers, meters, ids, capture_content=capture)
