/** Knows the settings of traces as a group. */
import type { Secret } from '../secret.ts';
import type { Values } from './variables.ts';

export interface TraceSettings {
  /** Where a collector takes traces by OTLP/HTTP. */
  readonly url: URL;
  /** By name, in lower case. */
  readonly headers: Secret<Readonly<Record<string, string>>> | undefined;
  readonly serviceName: string;
}

/** Null where no traces are recorded. */
export function traceSettings(
  values: Values,
  secretOf: (name: 'OTEL_EXPORTER_OTLP_HEADERS') => TraceSettings['headers'],
): TraceSettings | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole } = values;
  const url = whole ?? (base && tracesBelow(base));
  if (url === undefined) return null;
  const headers = secretOf('OTEL_EXPORTER_OTLP_HEADERS');
  return { url, headers, serviceName: values.OTEL_SERVICE_NAME };
}

function tracesBelow({ href }: URL): URL {
  return new URL(`${href.replace(/\/+$/, '')}/v1/traces`);
}
