/** Describes the headers of inference requests and responses (docs/reference/inference.md, Providers). */
import type { OpenApiJson } from './json-schema.ts';

type HeaderTexts = Readonly<Record<string, string>>;

const requestTexts: HeaderTexts = {
  'x-gateway-config': 'Config by slug or id, or a config as JSON, in place of that of the key.',
  'x-gateway-provider': 'Provider of the workspace as `@slug`, or the name of a service.',
  'x-gateway-virtual-key': 'Slug of a provider of the workspace.',
  'x-gateway-custom-host': 'Address of the provider, where nothing else determines it.',
  'x-gateway-request-timeout': 'Timeout in milliseconds, in place of that of the config.',
  'x-gateway-forward-headers': 'Names of headers to forward to the provider, separated by commas.',
  'x-gateway-metadata': 'JSON object of texts, for logs, analytics and policies.',
  'x-gateway-cache-force-refresh': '`true` asks for no cached response.',
  'x-gateway-cache-namespace': 'Separate part of the cache, up to 256 characters.',
  'x-gateway-trace-id': 'Id of the request: 1 to 128 letters, digits, `_`, `.`, `:` and `-`.',
};

const responseTexts: HeaderTexts = {
  'x-gateway-trace-id': 'Id of the request.',
  'x-gateway-provider': 'Provider that responded.',
  'x-gateway-last-used-option-index': 'Target in the config, such as `config.targets[1]`.',
  'x-gateway-retry-attempt-count': 'Number of retries; -1 when all were used up.',
  'x-gateway-cost': 'Cost in dollars of a response that is no stream.',
  'x-gateway-dropped-members':
    'Paths of members of the request that the format of the provider lacks, separated by commas.',
  'x-gateway-target-selection':
    'Why a strategy selected the target: `latency`, `cost`, `probe`, `fallback`, `context_window` or `hedge`.',
  'x-gateway-cache-status':
    '`HIT`, `SEMANTIC HIT`, `MISS`, `SEMANTIC MISS`, `REFRESH` or `DISABLED`.',
  'x-gateway-config-age':
    'Age of the configuration in seconds, while the database does not respond.',
  'x-gateway-token-count': '`estimated` where the gateway counted tokens itself.',
  'x-gateway-failed-providers': 'Providers that a list of models lacks, each with the reason.',
  'x-gateway-usage-remaining': 'Remaining budgets, the lowest of each kind.',
};

/** The parameters, by name in the components of the document. */
export const inferenceParameters: OpenApiJson = mapped(requestTexts, (name, description) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
}));

/** The headers, by name in the components of the document. */
export const inferenceHeaders: OpenApiJson = mapped(responseTexts, (_, description) => ({
  description,
  schema: { type: 'string' },
}));

export const inferenceRequestHeaders: readonly OpenApiJson[] = Object.keys(requestTexts).map(
  (name) => ({
    $ref: `#/components/parameters/${name}`,
  }),
);

export const inferenceResponseHeaders: OpenApiJson = mapped(responseTexts, (name) => ({
  $ref: `#/components/headers/${name}`,
}));

function mapped(
  texts: HeaderTexts,
  describe: (name: string, description: string) => OpenApiJson,
): OpenApiJson {
  const entries = Object.entries(texts).map(([name, text]) => [name, describe(name, text)]);
  return Object.fromEntries(entries) as OpenApiJson;
}
