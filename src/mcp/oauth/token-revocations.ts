/** Revokes tokens of deleted connections at their authorization servers (RFC 7009): once, in the background, within bounds. */
import { setTimeout as delay } from 'node:timers/promises';
import { resolveMappedFields } from '../../auth/mapped-fields.ts';
import { connectionContext, headerSecretLocations } from '../../auth/mcp-secrets.ts';
import { openSecrets } from '../../auth/secret-values.ts';
import { detach } from '../../detached.ts';
import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { Secret } from '../../secret.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import * as mcpIntegrations from '../../store/mcp/mcp-integrations.ts';
import * as mcpServers from '../../store/mcp/mcp-servers.ts';
import * as secretReferences from '../../store/resources/secret-references.ts';
import type { OAuthClient } from './oauth-client.ts';
import type { OAuthClients } from './oauth-clients.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthGrant } from './oauth-grant.ts';
import { sendOAuthRequest, shortUrl } from './oauth-http.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import { formOf } from './token-endpoint.ts';
import { userOAuthOf } from './user-oauth.ts';

/** Result of the revocation of one connection. */
interface RevocationResult {
  readonly organisationId: string;
  readonly serverId: string;
  /** Origin and path of the issuer. */
  readonly issuer: string;
  /** Why the tokens may still be valid; null when they have been revoked. */
  readonly fault: string | null;
}

export interface TokenRevocationsOptions extends OAuthParts {
  readonly clients: Pick<OAuthClients, 'find'>;
  readonly onResult: (result: RevocationResult) => void;
  /** Called when no request is in flight any more. */
  readonly onEnd: () => Promise<void>;
}

interface PreparedRevocation {
  readonly row: mcpConnections.StoredMcpConnection;
  readonly grant: OAuthGrant;
  readonly endpoint: string;
  readonly client: OAuthClient;
  readonly tokens: readonly { readonly hint: string; readonly token: Secret }[];
}

/** Connections that one deletion revokes; the others are reported. */
const connectionsMax = 200;
const concurrencyMax = 8;
/** A transaction that lasts longer is taken for one that deletes nothing. */
const goneMs = 30_000;
const pollMs = 100;

export class TokenRevocations implements AsyncDisposable {
  readonly #options: TokenRevocationsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #ended = new AbortController();

  constructor(options: TokenRevocationsOptions) {
    this.#options = options;
  }

  /** Notes the connections that the transaction is about to delete; their tokens are revoked when they are gone. */
  async noteDeletion(tx: Db, which: mcpConnections.ConnectionFilter): Promise<void> {
    const rows = await mcpConnections.listWithGrant(tx, which, connectionsMax + 1);
    const prepared: PreparedRevocation[] = [];
    for (const [at, row] of rows.entries()) {
      const one =
        at < connectionsMax ? await this.#prepare(tx, row) : 'too many connections at once';
      if (typeof one === 'string') this.#report(row, one);
      else prepared.push(one);
    }
    if (prepared.length === 0) return;
    const work = this.#revokeAll(prepared).finally(() => this.#running.delete(work));
    this.#running.add(work);
    detach('the revocation of tokens', work);
  }

  /** Requests in flight are waited for. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#running);
    await this.#options.onEnd();
  }

  /** The reason when the tokens cannot be revoked. */
  async #prepare(
    tx: Db,
    row: mcpConnections.StoredMcpConnection,
  ): Promise<PreparedRevocation | string> {
    const grant = JSON.parse(row.oauth_grant!) as OAuthGrant;
    const { revocationEndpoint: endpoint } = grant;
    if (endpoint === null) return 'the authorization server revokes no tokens';
    try {
      const client = await this.#options.clients.find(await this.#serverOf(tx, row), grant);
      if (client === null) return 'the OAuth client does not exist any more';
      const unsealer = await this.#options.keyring.unsealerOf(row.organisation_id);
      const tokens = (['refresh_token', 'access_token'] as const).flatMap((hint) => {
        const sealed = row[hint];
        if (sealed === null) return [];
        const text = unsealer.unseal(sealed, connectionContext(row, hint));
        return [{ hint, token: new Secret(text, 'a token of a user') }];
      });
      return { row, grant, endpoint, client, tokens };
    } catch (error) {
      if (error instanceof OAuthFault) return error.message;
      throw error;
    }
  }

  /** @throws OAuthFault */
  async #serverOf(
    tx: Db,
    { organisation_id: organisationId, mcp_server_id: id }: mcpConnections.StoredMcpConnection,
  ): Promise<OAuthServer> {
    const server = await mcpServers.findByIdOrSlug(tx, organisationId, id);
    const integration =
      server &&
      (await mcpIntegrations.findByIdOrSlug(tx, organisationId, server.mcp_integration_id));
    if (server === undefined || integration === undefined) {
      throw new OAuthFault('the MCP server does not exist any more');
    }
    const unsealer = await this.#options.keyring.unsealerOf(organisationId);
    const stored = readDocument<McpConfigurations>(integration.configurations) ?? {};
    const opened = openSecrets(unsealer, headerSecretLocations(integration.id), stored);
    const { secret_mappings: mappings, id: integrationId } = integration;
    const ids = [...new Set(readMappings(mappings).map((one) => one.reference_id))];
    const rows = await secretReferences.listByIds(tx, organisationId, ids);
    const references = await secretReferences.withWorkspaces(tx, organisationId, rows);
    const fields = resolveMappedFields(mappings, references, unsealer, server.workspace_id);
    const userOAuth = userOAuthOf({ ...integration, auth_type: 'oauth_auto' }, opened, fields);
    return {
      id,
      slug: server.slug,
      organisationId,
      integrationId,
      url: new URL(integration.url),
      userOAuth,
    };
  }

  async #revokeAll(prepared: readonly PreparedRevocation[]): Promise<void> {
    const waiting = [...prepared];
    const work = async (): Promise<void> => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        if (await this.#isGone(one.row)) this.#report(one.row, await this.#revoke(one));
      }
    };
    await Promise.all(Array.from({ length: concurrencyMax }, work));
  }

  /** Whether the transaction has deleted the connection; false when it was rolled back. */
  async #isGone(row: mcpConnections.StoredMcpConnection): Promise<boolean> {
    const { signal } = this.#ended;
    for (let waitedMs = 0; waitedMs < goneMs; waitedMs += pollMs) {
      const current = await mcpConnections.find(this.#options.database.db, row);
      if (current?.version !== row.version) return true;
      if (signal.aborted) return false;
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    return false;
  }

  /** The refresh token first: its revocation usually ends the access token, too. Null when all are revoked. */
  async #revoke({ endpoint, client, tokens }: PreparedRevocation): Promise<string | null> {
    for (const { hint, token } of tokens) {
      const { headers, body } = formOf(client, { token: token.reveal(), token_type_hint: hint });
      try {
        const sent = { url: endpoint, method: 'POST', headers, body: Buffer.from(body) } as const;
        const { status } = await sendOAuthRequest(this.#options.requests, sent);
        if (status >= 300) return `${shortUrl(endpoint)} responds with ${status}`;
      } catch (error) {
        if (error instanceof OAuthFault) return error.message;
        throw error;
      }
    }
    return null;
  }

  #report(row: mcpConnections.StoredMcpConnection, fault: string | null): void {
    const { organisation_id: organisationId, mcp_server_id: serverId } = row;
    const { issuer } = JSON.parse(row.oauth_grant!) as OAuthGrant;
    this.#options.onResult({ organisationId, serverId, issuer: shortUrl(issuer), fault });
  }
}
