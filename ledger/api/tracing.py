"""Traces by OpenTelemetry, from a request to its append: where an exporter is configured, and only then.

What is exported where is said by OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT and its kin). The libraries are an
extra of this package, `otel`; without a configured exporter they are not even imported.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.types import Scope

from ledger.reports import Report, Verdict

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_log = logging.getLogger(__name__)
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SPAN = "roundledger.span"


def configured(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether an exporter of traces is configured."""
    off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    return not off and exporter != "none" and (exporter == "otlp" or any(environ.get(name) for name in _ENDPOINTS))


def exporting() -> Tracing | None:
    """Traces into the configured exporter; None where none is, or the extra `otel` is not installed."""
    if not configured():
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        _log.warning("no traces are exported, though OTEL_* asks for them: %s; install round-ledger[otel]", missing)
        return None
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if named else {"service.name": "round-ledger"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)


class Tracing:
    """The spans of one service."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("round-ledger")
        self._propagator = TraceContextTextMapPropagator()

    def request(self, scope: Scope, headers: Mapping[str, str], number: str) -> RequestSpan:
        """The span of a request, as a part of the trace that its `traceparent` names, if it names one (W3C Trace Context)."""
        from opentelemetry.trace import SpanKind

        span = self._tracer.start_span(
            scope["method"],
            context=self._propagator.extract(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": scope["method"], "url.path": scope["path"], "roundledger.request": number},
        )
        scope[_SPAN] = span
        return RequestSpan(span, scope["method"])

    def append(self, scope: Scope, reports: Sequence[Report]) -> AppendSpan:
        """The span of a post's reports on their way into the log: the wait for their group, its decision and its commit."""
        from opentelemetry.trace import set_span_in_context

        span = self._tracer.start_span(
            "append",
            context=set_span_in_context(scope[_SPAN]),
            attributes={
                "roundledger.reports": len(reports),
                "roundledger.rounds": sorted({str(report.round) for report in reports[:_NAMED]}),
                "roundledger.terminals": sorted({report.terminal for report in reports[:_NAMED]}),
            },
        )
        return AppendSpan(span)

    def close(self) -> None:
        """Exports what is left."""
        self._provider.shutdown()


_NAMED = 20
"""Reports of a post whose rounds and terminals its span names."""


class RequestSpan:
    """A request that is under way."""

    def __init__(self, span: Span, method: str) -> None:
        self._span = span
        self._method = method

    def end(self, route: str, status: int) -> None:
        """The request is answered."""
        from opentelemetry.trace import StatusCode

        self._span.update_name(f"{self._method} {route}")
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class AppendSpan:
    """Reports that are being written. Ends with the block."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> AppendSpan:
        return self

    def written(self, verdicts: Sequence[Verdict]) -> None:
        """What became of the reports, and where in the log they stand."""
        positions = [position for verdict in verdicts for position in verdict.positions]
        self._span.set_attribute("roundledger.rejected", sum(verdict.status == "rejected" for verdict in verdicts))
        if positions:
            self._span.set_attribute("roundledger.first_position", min(positions))
            self._span.set_attribute("roundledger.last_position", max(positions))

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        from opentelemetry.trace import StatusCode

        if error is not None:
            self._span.record_exception(error)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
