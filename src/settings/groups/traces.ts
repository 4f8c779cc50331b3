/** Groups the settings of traces. */
import type { Secret } from '../../secret.ts';
import type { SettingValues } from '../variables/variables.ts';

export interface TraceSettings {
  /** Address of the OTLP/HTTP collector. */
  readonly url: URL;
  /** By lower-case name. */
  readonly headers: Secret<Readonly<Record<string, string>>> | undefined;
  readonly serviceName: string;
  /** Share of requests that are traced; with `heedsParent` the decision of the caller's span has precedence. */
  readonly sampler: { readonly heedsParent: boolean; readonly ratio: number };
}

/** Null when tracing is off. */
export function traceSettings(
  values: SettingValues,
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
}: SettingValues): TraceSettings['sampler'] {
  const heedsParent = name.startsWith('parentbased_');
  if (name.endsWith('always_off')) return { heedsParent, ratio: 0 };
  return { heedsParent, ratio: name.endsWith('traceidratio') ? share : 1 };
}

function tracesBelow({ href }: URL): URL {
  return new URL(`${href.replace(/\/+$/, '')}/v1/traces`);
}
