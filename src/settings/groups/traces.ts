/** Knows the settings of traces as a group. */
import type { Secret } from '../../secret.ts';
import type { Values } from '../variables/variables.ts';

export interface TraceSettings {
  /** Where a collector takes traces by OTLP/HTTP. */
  readonly url: URL;
  /** By name, in lower case. */
  readonly headers: Secret<Readonly<Record<string, string>>> | undefined;
  readonly serviceName: string;
  /** Which requests are recorded: by what their callers say of their own spans, or by this share of all. */
  readonly sampler: { readonly heedsParent: boolean; readonly ratio: number };
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
  return { url, headers, serviceName: values.OTEL_SERVICE_NAME, sampler: samplerOf(values) };
}

function samplerOf({
  OTEL_TRACES_SAMPLER: name,
  OTEL_TRACES_SAMPLER_ARG: share,
}: Values): TraceSettings['sampler'] {
  const heedsParent = name.startsWith('parentbased_');
  if (name.endsWith('always_off')) return { heedsParent, ratio: 0 };
  return { heedsParent, ratio: name.endsWith('traceidratio') ? share : 1 };
}

function tracesBelow({ href }: URL): URL {
  return new URL(`${href.replace(/\/+$/, '')}/v1/traces`);
}
