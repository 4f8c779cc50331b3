/** Knows the environment variables of traces, under the names that OpenTelemetry gives them. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    'Inference',
    { ...forms.webAddress, example: 'http://collector:4318' },
    'Collector of traces by OTLP/HTTP, without the /v1/traces at its end; without it none are recorded.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(
    'Inference',
    { ...forms.webAddress, example: 'https://otlp.example.com/v1/traces' },
    'The whole address for traces, in place of OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(
    'Inference',
    forms.headerValues,
    'Headers for the collector, as it asks for a credential.',
    { secret: true },
  ),
  OTEL_SERVICE_NAME: defaulted(
    'Inference',
    forms.line('a name', 'gatewright-eu', 255),
    'gatewright',
    'Name of the service in traces.',
  ),
};
