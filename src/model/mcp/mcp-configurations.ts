/** Validates an MCP integration beyond its schema: URL, headers, and secrets in plain-text fields. */

import type { TrustedHosts } from '../../trusted-hosts.ts';
import { tokenValidationFaults } from '../guardrails/token-validation.ts';
import { mappedPath } from '../secrets/secret-mapping.ts';
import { isSecretName } from '../secrets/secret-names.ts';
import { headerListFaults, headerMapFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { mockMcpUrl } from '../services/provider-addresses.ts';
import { type Fault, faultAt, prefixFaults } from '../wire/fault.ts';
import { ineffectiveFields, unknownFieldsBeside } from '../wire/unknown-fields.ts';
import { externalAuthFaults, oauthMetadataFaults } from './external-auth.ts';
import { identityForwardingFaults } from './identity-forwarding.ts';
import { type ForwardHeaders, McpConfigurations } from './mcp-integration.ts';
import { clientSecretFields, secretHeaderMaps } from './mcp-secret-fields.ts';

const passthroughMaps = ['passthrough_header', 'passthrough_headers'] as const;

/** Keys with which other products start a local program. */
const programKeys = new Set(['command', 'args', 'env', 'cwd']);

/** Returns the faults of the URL and the configurations of an MCP integration. */
export function mcpIntegrationFaults(
  { url, configurations, secret_mappings: mappings }: JudgedIntegration,
  trusted: TrustedHosts,
): Fault[] {
  const settings = configurations ?? {};
  const isMapped = mappings?.some(
    ({ target_field: target }) => mappedPath(target).join('.') === 'oauth_private_key',
  );
  return [
    ...faultAt('url', url === undefined ? null : urlFault(url, trusted)),
    ...prefixFaults(
      ['configurations'],
      [...configurationsFaults(settings, trusted), ...keyFaults(settings, isMapped === true)],
    ),
  ];
}

interface JudgedIntegration {
  readonly url?: string | undefined;
  readonly configurations?: McpConfigurations | null | undefined;
  /** Secret mappings in effect. */
  readonly secret_mappings?: readonly { readonly target_field: string }[] | null | undefined;
}

/** The mock server can be named everywhere, like the provider of its name; it is called only where it is trusted. */
function urlFault(url: string, trusted: TrustedHosts): string | null {
  return url === mockMcpUrl ? null : outboundUrlFault(url, trusted);
}

/** Returns the fields of the configurations that are accepted without effect; paths start at the body. */
export function mcpIntegrationWarnings(configurations: unknown): Fault[] {
  return prefixFaults(['configurations'], ineffectiveFields(McpConfigurations, configurations));
}

/** Paths start at the configurations. No fault contains a value. */
function configurationsFaults(configurations: McpConfigurations, trusted: TrustedHosts): Fault[] {
  const headers = [
    ...secretHeaderMaps.map((field) => ({ field, use: 'set' as const })),
    ...passthroughMaps.map((field) => ({ field, use: 'forwarded' as const })),
  ].flatMap(({ field, use }) =>
    prefixFaults([field], headerMapFaults(configurations[field] ?? {}, use)),
  );
  const known = new Set<string>([
    ...secretHeaderMaps,
    ...passthroughMaps,
    'forward_headers',
    'user_identity_forwarding',
    'jwt_validation',
    ...clientSecretFields,
  ]);
  const others = Object.entries(configurations).filter(([key]) => !known.has(key));
  return unknownFieldsBeside(McpConfigurations, configurations, [
    ...headers,
    ...prefixFaults(['forward_headers'], forwardFaults(configurations.forward_headers ?? [])),
    ...endpointMembers.flatMap((name) => {
      const endpoint = configurations[name];
      return faultAt(name, endpoint === undefined ? null : outboundUrlFault(endpoint, trusted));
    }),
    ...prefixFaults(
      ['user_identity_forwarding'],
      identityForwardingFaults(configurations.user_identity_forwarding ?? {}),
    ),
    ...prefixFaults(['jwt_validation'], validationFaults(configurations.jwt_validation, trusted)),
    ...signInFaults(configurations, trusted),
    ...assertionFaults(configurations),
    ...others.flatMap(([key, value]) => otherFaults(key, value)),
  ]);
}

function validationFaults(
  validation: McpConfigurations['jwt_validation'],
  trusted: TrustedHosts,
): Fault[] {
  return validation === undefined ? [] : tokenValidationFaults(validation, trusted);
}

function signInFaults(configurations: McpConfigurations, trusted: TrustedHosts): Fault[] {
  const { external_auth_config: external, oauth_metadata: metadata } = configurations;
  return [
    ...prefixFaults(
      ['external_auth_config'],
      external === undefined ? [] : externalAuthFaults(external, trusted),
    ),
    ...prefixFaults(
      ['oauth_metadata'],
      metadata === undefined ? [] : oauthMetadataFaults(metadata, trusted),
    ),
  ];
}

const endpointMembers = ['oauth_token_endpoint', 'oauth_idp_token_endpoint'] as const;
const assertionMembers = [
  'oauth_idp_token_endpoint',
  'oauth_idp_client_id',
  'oauth_issuer',
] as const;

function assertionFaults(configurations: McpConfigurations): Fault[] {
  if (configurations.oauth_grant_type !== 'identity_assertion') return [];
  return assertionMembers.flatMap((name) =>
    faultAt(name, configurations[name] === undefined ? 'is required for identity_assertion' : null),
  );
}

function keyFaults(configurations: McpConfigurations, isMapped: boolean): Fault[] {
  const { oauth_token_endpoint_auth_method: method, oauth_private_key: key } = configurations;
  if (method === 'private_key_jwt') {
    return faultAt(
      'oauth_private_key',
      key === undefined && !isMapped ? 'is required for private_key_jwt' : null,
    );
  }
  const message =
    'has no effect; set oauth_token_endpoint_auth_method to private_key_jwt, or remove it';
  return faultAt('oauth_private_key', key === undefined ? null : message);
}

/** Names of a list of exceptions may be restricted: they are not forwarded anyway. */
function forwardFaults(forward: ForwardHeaders): Fault[] {
  if (Array.isArray(forward)) return headerListFaults(forward, 'forwarded');
  const { mode, headers } = forward;
  if (mode === 'all-except') return [];
  const ends = headers.map((one) => (typeof one === 'string' ? { from: one, to: one } : one));
  return prefixFaults(
    ['headers'],
    (['from', 'to'] as const).flatMap((end) =>
      headerListFaults(
        ends.map((names) => names[end]),
        'forwarded',
      ),
    ),
  );
}

/** Recursion is safe: JSON bodies are at most 64 levels deep (http/input/json.ts). */
function otherFaults(key: string, value: unknown): Fault[] {
  if (programKeys.has(key)) {
    return [{ path: [key], message: 'is for local programs, which are never started; set url' }];
  }
  if (isSecretName(key) && typeof value === 'string') {
    return [{ path: [key], message: 'is a secret; send it in secret_mappings or custom_headers' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return prefixFaults(
    [key],
    Object.entries(value).flatMap(([name, item]) => otherFaults(name, item)),
  );
}
