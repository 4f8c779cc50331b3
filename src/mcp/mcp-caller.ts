/** Queries the servers of stored MCP integrations with their headers, including values from secret managers. */
import type { Keyring } from '../auth/keyring.ts';
import {
  findBarredField,
  headerText,
  type MappedField,
  resolveMappedFields,
} from '../auth/mapped-fields.ts';
import { headerSecretLocations } from '../auth/mcp-secrets.ts';
import { openSecrets } from '../auth/secret-values.ts';
import type { Clock } from '../clock.ts';
import type { ClientLogin } from '../gateway/logins/client-login.ts';
import { requestToken } from '../gateway/logins/token-request.ts';
import { McpUnreachableError } from '../model/mcp/mcp-discovery.ts';
import type { McpConfigurations } from '../model/mcp/mcp-integration.ts';
import { isClientSecret, secretHeaderMaps } from '../model/mcp/mcp-secret-fields.ts';
import { readMappings } from '../model/secrets/secret-mapping.ts';
import { calledMcpUrl } from '../model/services/provider-addresses.ts';
import { readDocument } from '../model/wire/json-record.ts';
import { SecretUnreadable, textOf } from '../secret-managers/managed-secret.ts';
import {
  type SecretLocation,
  SecretManagers,
  type SecretManagersOptions,
} from '../secret-managers/secret-managers.ts';
import type { Database } from '../store/connection/db.ts';
import type { StoredMcpIntegration } from '../store/mcp/mcp-integrations.ts';
import * as secretReferences from '../store/resources/secret-references.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { ExploredServer } from './explored-server.ts';
import { ClientSecrets } from './oauth/client-secrets.ts';
import { LoginCompletion } from './oauth/login-completion.ts';
import { OAuthClients } from './oauth/oauth-clients.ts';
import { OAuthFault } from './oauth/oauth-fault.ts';
import type { OAuthRequests } from './oauth/oauth-http.ts';
import { type ServerLogin, serverLoginOf } from './oauth/server-login.ts';

/** Below the 30 s that clients of the Admin API wait. */
const timeoutMs = 20_000;
/** Maximum concurrent queries. */
const queriesMax = 32;
/** Shorter secrets may occur in a response by chance. */
const secretLengthMin = 8;

export interface McpCallerOptions {
  readonly database: Pick<Database, 'db' | 'readable' | 'transaction'>;
  readonly keyring: Pick<Keyring, 'sealerOf' | 'unsealerOf'>;
  readonly clock: Clock;
  readonly trusted: TrustedHosts;
  /** Host and port of the mock upstream; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
  /** Whether secret managers may be accessed with the identity of the gateway. */
  readonly allowsOwnIdentity: boolean;
  /** Called for each value that is read from a secret manager. */
  readonly onSecretRead: SecretManagersOptions['onRead'];
  /** Version of this program. */
  readonly version: string;
}

export interface McpQuery {
  readonly integration: StoredMcpIntegration;
  /** Workspace that runs the query; null for the organisation. */
  readonly workspaceId: string | null;
  /** The caller's own token for the server; null for none. */
  readonly accessToken: string | null;
  /** Whether to query the capabilities too. */
  readonly wantsLists: boolean;
}

/** Dispose closes its sockets. */
export class McpCaller implements AsyncDisposable {
  readonly #options: McpCallerOptions;
  readonly #origins: Origins;
  readonly #managers: SecretManagers;
  #running = 0;

  constructor(options: McpCallerOptions) {
    const { trusted, clock, allowsOwnIdentity, onSecretRead: onRead } = options;
    this.#options = options;
    this.#origins = new Origins(trusted);
    this.#managers = new SecretManagers({ trusted, clock, allowsOwnIdentity, onRead });
  }

  /** @throws McpUnreachableError */
  async explore(query: McpQuery): Promise<ExploredServer> {
    if (this.#running >= queriesMax) {
      throw new McpUnreachableError(
        `${queriesMax} servers are being queried already; try again`,
        null,
      );
    }
    this.#running += 1;
    try {
      return await this.#explore(query);
    } finally {
      this.#running -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      this.#origins[Symbol.asyncDispose](),
      this.#managers[Symbol.asyncDispose](),
    ]);
  }

  async #explore(query: McpQuery): Promise<ExploredServer> {
    const { url: storedUrl, transport } = query.integration;
    const headers = await this.#headersOf(query);
    const { trusted, version, mockUpstreamHost } = this.#options;
    const url = calledMcpUrl(storedUrl, mockUpstreamHost);
    const options = { origins: this.#origins, trusted, timeoutMs };
    // Loaded on first use, because few organisations query servers.
    const { explore } = await import('./explore.ts');
    const explored = await explore({ url, transport, headers }, options, version, query.wantsLists);
    const secrets = Object.values(headers).flatMap((value) => [value, withoutScheme(value)]);
    // The discovery is stored and shown to everybody who may read the integration.
    const text = JSON.stringify([explored.server, explored.capabilities]);
    const repeats = secrets.some(
      (value) =>
        value.length >= secretLengthMin && text.includes(JSON.stringify(value).slice(1, -1)),
    );
    if (repeats) {
      throw new McpUnreachableError(
        'the server repeats a secret that was sent to it',
        explored.status,
      );
    }
    return explored;
  }

  /** Names in lower case. */
  async #headersOf({
    integration,
    workspaceId,
    accessToken,
  }: McpQuery): Promise<Record<string, string>> {
    const { organisation_id: organisationId } = integration;
    const unsealer = await this.#options.keyring.unsealerOf(organisationId);
    const stored = readDocument<McpConfigurations>(integration.configurations) ?? {};
    const opened = openSecrets(unsealer, headerSecretLocations(integration.id), stored);
    const headers: Record<string, string> = {};
    for (const field of secretHeaderMaps) {
      for (const [name, value] of Object.entries(opened[field] ?? {})) {
        headers[name.toLowerCase()] = value;
      }
    }
    const referenceIds = readMappings(integration.secret_mappings).map((one) => one.reference_id);
    const db = this.#options.database.readable;
    const rows = await secretReferences.listByIds(db, organisationId, [...new Set(referenceIds)]);
    const placed = await secretReferences.withWorkspaces(db, organisationId, rows);
    const fields = resolveMappedFields(integration.secret_mappings, placed, unsealer, workspaceId);
    const headerFields = fields.filter(({ target }) => !isClientSecret(target));
    const barred = findBarredField(headerFields, integration.url);
    if (barred !== undefined) {
      const reason = `the secret ${barred.slug} may not be sent to this host; see its allowed_hosts`;
      throw new McpUnreachableError(reason, null);
    }
    const mapped = await Promise.all(headerFields.map((field) => this.#mappedHeader(field)));
    Object.assign(headers, Object.fromEntries(mapped.filter((one) => one !== null)));
    if (accessToken !== null) headers.authorization ??= `Bearer ${accessToken}`;
    const login = serverLoginOf(integration, opened, fields);
    if (login !== null && !(login.exchangesToken && accessToken !== null)) {
      headers.authorization = `Bearer ${await this.#tokenOf(integration, login)}`;
    }
    return headers;
  }

  /** A new token for each query, which therefore tests the login too. */
  async #tokenOf(integration: StoredMcpIntegration, login: ServerLogin): Promise<string> {
    if (login.exchangesToken) {
      const reason = 'its tokens are exchanged for those of callers; store an access token';
      throw new McpUnreachableError(reason, null);
    }
    const { trusted, clock } = this.#options;
    const outbound = new Outbound(this.#origins, trusted);
    const client = await completedLogin(this.#options, this.#managers, integration, login, {
      outbound,
      trusted,
    });
    const granted = await requestToken(client, outbound, clock.now());
    if ('token' in granted) return granted.token;
    throw new McpUnreachableError(`the gateway obtains no access token: ${granted.fault}`, null);
  }

  /** Name and value of the header; null for a field that is not a header. */
  async #mappedHeader(field: MappedField): Promise<[string, string] | null> {
    const { target, isAllowed, place, secretKey, slug } = field;
    const [map, name] = target;
    const isHeader = secretHeaderMaps.some((one) => one === map) && name !== undefined;
    if (!isHeader) return null;
    if (!isAllowed) {
      throw new McpUnreachableError(`the workspace may not use the secret ${slug}`, null);
    }
    try {
      return [name.toLowerCase(), headerText(textOf(await this.#managers.read(place), secretKey))];
    } catch (error) {
      const isUnavailable = error instanceof SecretUnreadable && error.isUnavailable;
      const reason = isUnavailable
        ? 'its secret manager is unreachable'
        : 'its secret manager has no such value';
      throw new McpUnreachableError(`the secret ${slug} cannot be read: ${reason}`, null, {
        cause: error,
      });
    }
  }
}

/** The credential of an Authorization header; other values as they are. */
function withoutScheme(value: string): string {
  return value.replace(/^bearer +/i, '');
}

/** The login with its endpoint and its secrets. @throws McpUnreachableError */
async function completedLogin(
  options: McpCallerOptions,
  managers: SecretManagers,
  { organisation_id: organisationId, id: integrationId, url }: StoredMcpIntegration,
  login: ServerLogin,
  requests: OAuthRequests,
): Promise<ClientLogin> {
  const values = { peek: () => undefined, get: (place: SecretLocation) => managers.read(place) };
  const secrets = new ClientSecrets(values);
  const now = (): number => options.clock.now();
  const parts = { ...options, secrets, requests, addresses: null, now };
  const completion = new LoginCompletion({ ...parts, clients: new OAuthClients(parts) });
  const called = new URL(calledMcpUrl(url, options.mockUpstreamHost));
  try {
    const server = { organisationId, integrationId, url: called };
    return (await completion.complete(server, login)).client;
  } catch (error) {
    if (!(error instanceof OAuthFault)) throw error;
    const reason = `the gateway obtains no access token: ${error.message}`;
    throw new McpUnreachableError(reason, null, { cause: error });
  }
}
