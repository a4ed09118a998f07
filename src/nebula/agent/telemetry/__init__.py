"""Turns as OpenTelemetry traces and metrics, for those who have a collector: off unless its address is set.

Nothing of OpenTelemetry is loaded before that. It is the optional extra `otel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from nebula.events import Reader
from nebula.language import Sentence

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_EXPORTER = "opentelemetry.exporter.otlp.proto.http"


def telemetry_readers(environ: Mapping[str, str]) -> tuple[Reader, ...]:
    """Return the reader that reports turns to the collector of `environ`; none where no collector is set."""
    return (_shared_reader(),) if environ.get(ENDPOINT) and _is_installed() else ()


def telemetry_remarks(environ: Mapping[str, str]) -> list[Sentence]:
    """Return remarks for the user where a collector is set that cannot be used."""
    if not environ.get(ENDPOINT) or _is_installed():
        return []
    said = "{variable} is set, but nothing is reported: OpenTelemetry is not installed. To install it: {line}"
    return [Sentence(said, variable=ENDPOINT, line="pip install 'nebula-agent[otel]'")]


@cache
def _shared_reader() -> Reader:
    """Return the one reader of this process, since its exporters have threads."""
    from nebula.agent.telemetry.export import open_reader

    return open_reader()


@cache
def _is_installed() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(_EXPORTER) is not None
    except ModuleNotFoundError:  # not even the package above it
        return False
