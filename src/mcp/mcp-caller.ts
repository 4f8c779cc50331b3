/** Knows how the servers of stored MCP integrations are asked: with their headers, values of secret managers among them. */
import type { Keyring } from '../auth/keyring.ts';
import { headerText, type MappedField, readFields } from '../auth/mapped-fields.ts';
import { headerPlaces } from '../auth/mcp-secrets.ts';
import { openSecrets } from '../auth/secret-values.ts';
import type { Clock } from '../clock.ts';
import { readDocument } from '../model/json-record.ts';
import { type McpFound, McpUnreachable } from '../model/mcp-found.ts';
import type { McpConfigurations } from '../model/mcp-integration.ts';
import { secretHeaderMaps } from '../model/mcp-secret-fields.ts';
import { readMappings } from '../model/secret-mapping.ts';
import { SecretUnreadable, textOf } from '../secret-managers/kept-secret.ts';
import { SecretManagers, type SecretManagersOptions } from '../secret-managers/secret-managers.ts';
import type { Database } from '../store/connection/db.ts';
import type { StoredMcpIntegration } from '../store/tables/mcp-integrations.ts';
import * as secretReferences from '../store/tables/secret-references.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { Origins } from '../upstream/origins.ts';
import { explore } from './explore.ts';

/** Clients of the Admin API wait for half a minute. */
const timeoutMs = 20_000;
/** Servers that are asked at once. */
const askedMax = 32;
/** A secret that is shorter may stand in what a server says by chance. */
const tellingLength = 8;

export interface McpCallerOptions {
  readonly database: Pick<Database, 'readable'>;
  readonly keyring: Pick<Keyring, 'unsealerOf'>;
  readonly clock: Clock;
  readonly trusted: TrustedHosts;
  /** Whether secret managers may be signed in to as the gateway itself. */
  readonly mayBeItself: boolean;
  /** A value that was read from one. */
  readonly onSecretRead: SecretManagersOptions['onRead'];
  /** Of this program. */
  readonly version: string;
}

export interface McpAsked {
  readonly integration: StoredMcpIntegration;
  /** In whose name; null for the organisation. */
  readonly workspaceId: string | null;
  /** By which the caller is known to the server; null for none. */
  readonly accessToken: string | null;
  /** Also what it offers. */
  readonly wantsLists: boolean;
}

/** Dispose closes its sockets. */
export class McpCaller implements AsyncDisposable {
  readonly #options: McpCallerOptions;
  readonly #origins: Origins;
  readonly #managers: SecretManagers;
  #asked = 0;

  constructor(options: McpCallerOptions) {
    const { trusted, clock, mayBeItself, onSecretRead: onRead } = options;
    this.#options = options;
    this.#origins = new Origins(trusted);
    this.#managers = new SecretManagers({ trusted, clock, mayBeItself, onRead });
  }

  /** @throws McpUnreachable */
  async explore(asked: McpAsked): Promise<McpFound & { readonly status: number | null }> {
    if (this.#asked >= askedMax) {
      throw new McpUnreachable(`${askedMax} servers are being asked already; try again`, null);
    }
    this.#asked += 1;
    try {
      return await this.#explore(asked);
    } finally {
      this.#asked -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      this.#origins[Symbol.asyncDispose](),
      this.#managers[Symbol.asyncDispose](),
    ]);
  }

  async #explore(asked: McpAsked): Promise<McpFound & { readonly status: number | null }> {
    const { url, transport } = asked.integration;
    const headers = await this.#headersOf(asked);
    const { trusted, version } = this.#options;
    const means = { origins: this.#origins, trusted, timeoutMs };
    const found = await explore({ url, transport, headers }, means, version, asked.wantsLists);
    // What it says is kept, and shown to whoever may read it.
    const said = JSON.stringify([found.server, found.capabilities]);
    const repeats = Object.values(headers).some(
      (value) => value.length >= tellingLength && said.includes(JSON.stringify(value).slice(1, -1)),
    );
    if (repeats) {
      throw new McpUnreachable('the server repeats a secret that it was sent', found.status);
    }
    return found;
  }

  /** Names in lower case. */
  async #headersOf({
    integration,
    workspaceId,
    accessToken,
  }: McpAsked): Promise<Record<string, string>> {
    const { organisation_id: organisationId } = integration;
    const unsealer = await this.#options.keyring.unsealerOf(organisationId);
    const stored = readDocument<McpConfigurations>(integration.configurations) ?? {};
    const opened = openSecrets(unsealer, headerPlaces(integration.id), stored);
    const headers: Record<string, string> = {};
    for (const field of secretHeaderMaps) {
      for (const [name, value] of Object.entries(opened[field] ?? {})) {
        headers[name.toLowerCase()] = value;
      }
    }
    const wanted = readMappings(integration.secret_mappings).map((one) => one.reference_id);
    const db = this.#options.database.readable;
    const rows = await secretReferences.listByIds(db, organisationId, [...new Set(wanted)]);
    const placed = await secretReferences.withWorkspaces(db, organisationId, rows);
    const fields = readFields(integration.secret_mappings, placed, unsealer, workspaceId);
    const mapped = await Promise.all(fields.map((field) => this.#mappedHeader(field)));
    Object.assign(headers, Object.fromEntries(mapped.filter((one) => one !== null)));
    if (accessToken !== null) headers.authorization ??= `Bearer ${accessToken}`;
    return headers;
  }

  /** Its name and value; null for a field that is no header. */
  async #mappedHeader(field: MappedField): Promise<[string, string] | null> {
    const { target, isAllowed, place, secretKey, slug } = field;
    const [map, name] = target;
    const isHeader = secretHeaderMaps.some((one) => one === map) && name !== undefined;
    if (!isHeader) return null;
    if (!isAllowed) {
      throw new McpUnreachable(`the workspace may not use the secret ${slug}`, null);
    }
    try {
      return [name.toLowerCase(), headerText(textOf(await this.#managers.read(place), secretKey))];
    } catch (error) {
      const isSilence = error instanceof SecretUnreadable && error.isSilence;
      const why = isSilence
        ? 'its secret manager does not answer'
        : 'its secret manager has none that fits';
      throw new McpUnreachable(`the secret ${slug} cannot be read: ${why}`, null, { cause: error });
    }
  }
}
