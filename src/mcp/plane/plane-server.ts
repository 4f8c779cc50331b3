/** Builds what the gateway needs of an MCP server from its rows: address, headers, access, capabilities and guardrails. */
import type { Unsealer } from '../../auth/keyring.ts';
import {
  findBarredField,
  type MappedField,
  resolveMappedFields,
} from '../../auth/mapped-fields.ts';
import { headerSecretLocations } from '../../auth/mcp-secrets.ts';
import { openSecrets } from '../../auth/secret-values.ts';
import type { CheckTools } from '../../guardrails/guardrail.ts';
import { type TokenVerifier, tokenVerifier } from '../../guardrails/token-check.ts';
import { readClientCapabilities } from '../../model/mcp/client-capability.ts';
import { stricterPolicy } from '../../model/mcp/definition-state.ts';
import type { UsableExternalAuth } from '../../model/mcp/external-auth.ts';
import { type ForwardedIdentity, isForwarded } from '../../model/mcp/identity-forwarding.ts';
import type { ForwardHeaders, McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { secretHeaderMaps } from '../../model/mcp/mcp-secret-fields.ts';
import { isGranted } from '../../model/providers/integration-access.ts';
import { headerNameFault } from '../../model/services/forward-headers.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import { calledMcpUrl } from '../../model/services/provider-addresses.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { Secret } from '../../secret.ts';
import type { McpServerReading } from '../../store/reads/mcp-reads.ts';
import type { ReadableReference } from '../../store/resources/secret-references.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { issuerTokenVerifier } from '../identity/external-tokens.ts';
import { CapabilityRules, type KnownCapability } from '../messages/capability-rules.ts';
import { type ParamHeaders, paramHeadersIn } from '../messages/verify-headers.ts';
import { type ServerLogin, serverLoginOf } from '../oauth/server-login.ts';
import { type UserOAuth, userOAuthOf } from '../oauth/user-oauth.ts';
import { ServerPins } from '../pins/server-pins.ts';
import { type ServerGuardrails, serverGuardrails } from './server-guardrails.ts';

/** How the server is called; values are secrets. */
interface UpstreamAccess {
  /** Headers with the integration's credentials; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers with fixed values that are no secrets. */
  readonly passthrough: Readonly<Record<string, string>>;
  /** Fields that take their value from secret managers. */
  readonly mapped: readonly MappedField[];
}

export interface PlaneServer {
  readonly id: string;
  readonly slug: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly integrationId: string;
  readonly url: URL;
  /** Whether the server speaks HTTP+SSE (2024-11-05). */
  readonly isEventTransport: boolean;
  readonly access: Secret<UpstreamAccess>;
  /** How the server learns who calls; null when it does not. */
  readonly identity: ForwardedIdentity | null;
  /** How the gateway obtains its token for the server; null when it needs none. */
  readonly login: ServerLogin | null;
  /** Null for a server that needs no user's authorization. */
  readonly userOAuth: UserOAuth | null;
  /** Headers of the caller that are forwarded; null for none. */
  readonly forward: ForwardHeaders | null;
  readonly allowsUnlistedUsers: boolean;
  /** Access of single users, by id. */
  readonly users: ReadonlyMap<string, boolean>;
  readonly capabilities: CapabilityRules;
  /** Capabilities of clients that the server may not use. */
  readonly disabledClientCapabilities: ReadonlySet<string>;
  readonly pins: ServerPins;
  /** Headers of arguments, by tool. */
  readonly paramHeaders: ReadonlyMap<string, ParamHeaders>;
  readonly guardrails: ServerGuardrails;
  /** Verifies a further token of each caller; null where none is required. */
  readonly verifyToken: TokenVerifier | null;
  /** Identity provider whose token is required; null for tokens of any. */
  readonly externalAuth: UsableExternalAuth | null;
  /** Why the server cannot be called as it is configured; null when it can. */
  readonly fault: string | null;
}

export interface PlaneServerParts {
  readonly reading: McpServerReading;
  readonly references: readonly ReadableReference[];
  readonly unsealer: Unsealer;
  readonly trusted: TrustedHosts;
  readonly tools: CheckTools;
  readonly runsGuardrails: boolean;
  /** Host and port of the mock upstream; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
}

/** Null for a server that may not be used: archived, or of an integration that its workspace may not use. */
export function buildPlaneServer(parts: PlaneServerParts): PlaneServer | null {
  const { server, integration, grant, users } = parts.reading;
  const isOpen =
    server.status === 'active' &&
    integration.status === 'active' &&
    isGranted(integration, grant, server.workspace_id);
  if (!isOpen) return null;
  const { id, slug, organisation_id: organisationId, workspace_id: workspaceId } = server;
  const stored = readDocument<McpConfigurations>(integration.configurations) ?? {};
  const { user_identity_forwarding: forwarding } = stored;
  const locations = headerSecretLocations(integration.id);
  const opened = openSecrets(parts.unsealer, locations, stored);
  const { secret_mappings: mappings } = integration;
  const { references, unsealer } = parts;
  const fields = resolveMappedFields(mappings, references, unsealer, workspaceId);
  const access = accessOf(opened, fields);
  const login = serverLoginOf(integration, opened, fields);
  const pins = pinsOf(parts.reading);
  return {
    id,
    slug,
    organisationId,
    workspaceId,
    url: new URL(urlOf(parts)),
    isEventTransport: integration.transport === 'sse',
    integrationId: integration.id,
    login,
    identity: forwarding !== undefined && isForwarded(forwarding) ? forwarding : null,
    access: new Secret(access, `the headers of the MCP integration ${integration.slug}`),
    // A header with a credential takes the place of the users' authorization.
    userOAuth: hasCredential(access) ? null : userOAuthOf(integration, opened, fields),
    forward: stored.forward_headers ?? null,
    allowsUnlistedUsers: server.default_user_access !== 'deny',
    users: new Map(users.map((row) => [row.user_id, row.enabled !== 0])),
    capabilities: new CapabilityRules(knownCapabilities(parts.reading)),
    disabledClientCapabilities: new Set(
      [integration, server].flatMap((row) =>
        readClientCapabilities(row.disabled_client_capabilities),
      ),
    ),
    pins,
    paramHeaders: paramHeadersOf(parts.reading),
    guardrails: serverGuardrails(parts.reading, parts),
    verifyToken: verifierOf(stored, parts),
    externalAuth: externalAuthOf(stored),
    fault: pinsFault(pins, integration) ?? faultOf(parts, stored, access, login !== null),
  };
}

/**
 * Whether what the server lists depends on who asks: on the user, on capabilities or definitions
 * that are kept from callers, or on what the server learns of the caller.
 */
export function isPerCaller(server: PlaneServer): boolean {
  return (
    !server.allowsUnlistedUsers ||
    server.users.size > 0 ||
    server.capabilities.isRestricted ||
    server.pins.isEnforced ||
    learnsCaller(server)
  );
}

/** Whether the server receives something by which it can tell callers apart. */
export function learnsCaller({ userOAuth, login, identity, forward }: PlaneServer): boolean {
  return (
    userOAuth !== null || login?.exchangesToken === true || identity !== null || forward !== null
  );
}

function urlOf({ reading: { integration }, mockUpstreamHost }: PlaneServerParts): string {
  return calledMcpUrl(integration.url, mockUpstreamHost);
}

function pinsOf({ server, integration, definitions }: McpServerReading): ServerPins {
  const policy = stricterPolicy(integration.definition_policy, server.definition_policy);
  const isTaken = integration.definitions_from !== null;
  return new ServerPins({ policy, isTaken, digests: definitions });
}

function pinsFault(
  { isEnforced, isTaken, policy }: ServerPins,
  { slug }: McpServerReading['integration'],
): string | null {
  if (!isEnforced || isTaken) return null;
  return `its definition_policy ${policy} needs approved definitions; run gatewright approve ${slug} --refresh, or set approved_definitions`;
}

function accessOf(opened: McpConfigurations, fields: readonly MappedField[]): UpstreamAccess {
  const headers: Record<string, string> = {};
  for (const field of secretHeaderMaps) {
    for (const [name, value] of Object.entries(opened[field] ?? {})) {
      headers[name.toLowerCase()] = value;
    }
  }
  return { headers, passthrough: passthroughOf(opened), mapped: fields.filter(isHeaderField) };
}

/** Whether the field is a header: `custom_headers.X-Key`. */
function isHeaderField({ target: [map, name] }: MappedField): boolean {
  return secretHeaderMaps.some((one) => one === map) && name !== undefined;
}

/** Restricted names are refused when they are stored, and again here. */
function passthroughOf(stored: McpConfigurations): Record<string, string> {
  const pairs = Object.entries({ ...stored.passthrough_header, ...stored.passthrough_headers });
  return Object.fromEntries(
    pairs
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => headerNameFault(name, 'forwarded') === null),
  );
}

function verifierOf(
  stored: McpConfigurations,
  { tools, trusted }: PlaneServerParts,
): TokenVerifier | null {
  const { jwt_validation: validation } = stored;
  if (validation !== undefined) return tokenVerifier(validation, tools.searches, tools.outbound);
  const external = externalAuthOf(stored);
  return external === null ? null : issuerTokenVerifier(external.issuer, tools, trusted);
}

function externalAuthOf({
  external_auth_config: external,
}: McpConfigurations): UsableExternalAuth | null {
  const { issuer } = external ?? {};
  return issuer === undefined ? null : { ...external, issuer };
}

function faultOf(
  parts: PlaneServerParts,
  stored: McpConfigurations,
  access: UpstreamAccess,
  hasLogin: boolean,
): string | null {
  const { mapped } = access;
  const { integration } = parts.reading;
  const address = outboundUrlFault(urlOf(parts), parts.trusted);
  if (address !== null) return `its address ${address}`;
  const barred = findBarredField(mapped, integration.url);
  if (barred !== undefined) return `the secret ${barred.slug} may not be sent to its host`;
  const closed = mapped.find(({ isAllowed }) => !isAllowed);
  if (closed !== undefined) return `its workspace may not use the secret ${closed.slug}`;
  if (stored.external_auth_config !== undefined && externalAuthOf(stored) === null) {
    return 'its configurations.external_auth_config has no issuer';
  }
  const { user_identity_forwarding: forwarding } = stored;
  if (forwarding !== undefined && !isForwarded(forwarding)) {
    return 'its user_identity_forwarding has the method bearer, which is refused; use jwt_header';
  }
  const { auth_type: type } = integration;
  if (type === 'oauth_client_credentials' && !hasLogin && !hasCredential(access)) {
    return 'its configurations have no oauth_client_id';
  }
  return null;
}

function hasCredential({ headers, mapped }: UpstreamAccess): boolean {
  return (
    headers.authorization !== undefined ||
    mapped.some(({ target }) => target[1]?.toLowerCase() === 'authorization')
  );
}

/** A capability is enabled when both the integration and the server enable it. */
function knownCapabilities({ capabilities, ownCapabilities }: McpServerReading): KnownCapability[] {
  const keyOf = ({ type, name }: { readonly type: string; readonly name: string }): string =>
    `${type} ${name}`;
  const own = new Map(ownCapabilities.map((row) => [keyOf(row), row]));
  const known = capabilities.map((row): KnownCapability => {
    const isEnabled = row.enabled !== 0 && own.get(keyOf(row))?.enabled !== 0;
    own.delete(keyOf(row));
    const { type, name, uri, uri_template: uriTemplate } = row;
    return { type, name, isEnabled, uri, uriTemplate };
  });
  const others = [...own.values()].map(
    ({ type, name, enabled }): KnownCapability => ({
      type,
      name,
      isEnabled: enabled !== 0,
      uri: null,
      uriTemplate: null,
    }),
  );
  return [...known, ...others];
}

function paramHeadersOf({ capabilities }: McpServerReading): ReadonlyMap<string, ParamHeaders> {
  return new Map(
    capabilities.flatMap(({ name, facts }) => {
      if (facts === null) return [];
      const { input_schema: schema } = JSON.parse(facts) as { input_schema?: unknown };
      return [[name, paramHeadersIn(schema)] as const];
    }),
  );
}
