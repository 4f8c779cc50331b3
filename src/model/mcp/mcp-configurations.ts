/** Knows what an MCP integration's configurations may say: header names, and where no secret may stand. */

import type { TrustedHosts } from '../../trusted-hosts.ts';
import { below, type Fault, faultAt } from '../wire/fault.ts';
import { headerMapFaults } from '../services/forward-headers.ts';
import type { McpConfigurations } from './mcp-integration.ts';
import { secretHeaderMaps } from './mcp-secret-fields.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { isSecretName } from '../secrets/secret-names.ts';

const passthroughMaps = ['passthrough_header', 'passthrough_headers'] as const;

/** Keys by which other products start a local program. */
const programKeys = new Set(['command', 'args', 'env', 'cwd']);

/** What the schema of an MCP integration cannot say: its address, and what is in `configurations`. */
export function mcpIntegrationFaults(
  {
    url,
    configurations,
  }: { url?: string | undefined; configurations?: McpConfigurations | null | undefined },
  trusted: TrustedHosts,
): Fault[] {
  return [
    ...faultAt('url', url === undefined ? null : outboundUrlFault(url, trusted)),
    ...below(['configurations'], configurationsFaults(configurations ?? {}, trusted)),
  ];
}

/** Judges configurations beyond their schema; paths start at them. No fault shows a value. */
function configurationsFaults(configurations: McpConfigurations, trusted: TrustedHosts): Fault[] {
  const { oauth_token_endpoint: endpoint } = configurations;
  const headers = [
    ...secretHeaderMaps.map((field) => ({ field, use: 'set' as const })),
    ...passthroughMaps.map((field) => ({ field, use: 'forwarded' as const })),
  ].flatMap(({ field, use }) => below([field], headerMapFaults(configurations[field] ?? {}, use)));
  const known = new Set<string>([...secretHeaderMaps, ...passthroughMaps, 'oauth_client_secret']);
  const others = Object.entries(configurations).filter(([key]) => !known.has(key));
  return [
    ...headers,
    ...faultAt(
      'oauth_token_endpoint',
      typeof endpoint === 'string' ? outboundUrlFault(endpoint, trusted) : null,
    ),
    ...others.flatMap(([key, value]) => otherFaults(key, value)),
  ];
}

/** JSON bodies are at most 64 levels deep (http/json.ts), so this may recurse. */
function otherFaults(key: string, value: unknown): Fault[] {
  if (programKeys.has(key)) {
    return [{ path: [key], message: 'is for local programs, which are never started; give a url' }];
  }
  if (isSecretName(key) && typeof value === 'string') {
    return [{ path: [key], message: 'is a secret; give it by secret_mappings or custom_headers' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return below(
    [key],
    Object.entries(value).flatMap(([name, item]) => otherFaults(name, item)),
  );
}
