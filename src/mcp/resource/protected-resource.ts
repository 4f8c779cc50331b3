/** Describes each MCP server of the gateway as an OAuth protected resource (RFC 9728): metadata, audiences and challenges. */
import { TextSealer } from '../../auth/sealing.ts';
import { readJsonObject } from '../../model/json/read-object.ts';
import type { UsableExternalAuth } from '../../model/mcp/external-auth.ts';

export interface ProtectedResourceOptions {
  /** Address at which clients reach the gateway, without a slash at its end; null when it is not configured. */
  readonly publicUrl: string | null;
  /** Issuers of the tokens of clients. */
  readonly authorizationServers: readonly string[];
  /** Audience of tokens for the whole gateway; null when it is not configured. */
  readonly audience: string | null;
  /** Called once, when the first metadata of an external identity provider are named. */
  readonly readKey: () => Buffer;
}

type ChallengeError = 'invalid_token' | 'insufficient_scope' | null;

/** Scope of every operation. */
export const mcpScope = 'mcp.invoke';

const metadataPath = '/.well-known/oauth-protected-resource';
const keySetPath = '/.well-known/jwks.json';
/** Parameter of a query that names the identity provider. It is sealed: nothing is looked up, and nobody else makes one. */
const issuerParameter = 'issuer';
const sealedCharsMax = 8192;
const serverPath = /^\/([A-Za-z0-9_-]{1,255})\/mcp$/;

export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;
  /** Path of the public address; empty for none. */
  readonly #prefix: string;
  /** Origin and path of all metadata; null when the address of the gateway is not configured. */
  readonly #metadataUrl: string | null;
  readonly #sealer: TextSealer;

  constructor(options: ProtectedResourceOptions) {
    const { publicUrl, readKey } = options;
    this.#options = options;
    const url = publicUrl === null ? null : new URL(publicUrl);
    this.#prefix = url === null || url.pathname === '/' ? '' : url.pathname;
    this.#metadataUrl = url === null ? null : `${url.origin}${metadataPath}${this.#prefix}`;
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-metadata', sealedCharsMax });
  }

  /** Clients that find no authorization server would look for one at the gateway. */
  get #hasOwnMetadata(): boolean {
    return this.#metadataUrl !== null && this.#options.authorizationServers.length > 0;
  }

  /**
   * The metadata of the server that a path names, whether the server exists or not; null for another path. The
   * path of the public address may be present, or have been removed by a proxy. `query` names the identity provider
   * of a server that has its own.
   */
  metadataAt(path: string, query: URLSearchParams): Record<string, unknown> | null {
    if (this.#metadataUrl === null || !path.startsWith(metadataPath)) return null;
    const rest = path.slice(metadataPath.length);
    const { publicUrl, authorizationServers } = this.#options;
    const inside = rest.startsWith(`${this.#prefix}/`) ? rest.slice(this.#prefix.length) : rest;
    const slug = serverPath.exec(inside)?.[1];
    if (slug === undefined) return null;
    const named = query.get(issuerParameter);
    if (named === null && !this.#hasOwnMetadata) return null;
    const external = named === null ? null : this.#openExternal(named, slug);
    if (named !== null && external === null) return null;
    const scopes = external === null ? [mcpScope] : scopesOf(external);
    return {
      resource: `${publicUrl}/${slug}/mcp`,
      authorization_servers: external === null ? authorizationServers : [external.issuer],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
    };
  }

  #openExternal(sealed: string, slug: string): UsableExternalAuth | null {
    const text = this.#sealer.open(sealed, placeOf(slug));
    return text === null ? null : (readJsonObject(text) as UsableExternalAuth | null);
  }

  /** Whether a path leads to the keys with which the gateway signs, with or without the path of its address. */
  isKeySet(path: string): boolean {
    return path === keySetPath || path === `${this.#prefix}${keySetPath}`;
  }

  /** A token must be for the server, or for the whole gateway. */
  audiencesOf(slug: string): string[] {
    const { publicUrl, audience } = this.#options;
    const own = publicUrl === null ? [] : [publicUrl, `${publicUrl}/${slug}/mcp`];
    return audience === null ? own : [audience, ...own];
  }

  /** Audiences of tokens of the identity provider of a server; none while they are unknown. */
  externalAudiencesOf(slug: string, { audience }: UsableExternalAuth): string[] {
    const { publicUrl } = this.#options;
    if (audience !== undefined) return [audience];
    return publicUrl === null ? [] : [publicUrl, `${publicUrl}/${slug}/mcp`];
  }

  /** The value of `WWW-Authenticate` for a server whose callers sign in at an identity provider of its own. */
  externalChallenge(error: ChallengeError, slug: string, external: UsableExternalAuth): string {
    const { issuer, scope } = external;
    const sealed = this.#sealer.seal(JSON.stringify({ issuer, scope }), placeOf(slug));
    const query = new URLSearchParams({ [issuerParameter]: sealed });
    return bearerChallenge({
      error,
      scope: scopesOf(external).join(' '),
      metadata: this.#metadataUrl && `${this.#metadataUrl}/${slug}/mcp?${query}`,
    });
  }

  /**
   * The value of `WWW-Authenticate`.
   *
   * @param error null when no credential was sent
   * @param slug null when the path names no server
   */
  challenge(error: ChallengeError, slug: string | null): string {
    const isKnown = this.#hasOwnMetadata && slug !== null;
    const metadata = isKnown ? `${this.#metadataUrl}/${slug}/mcp` : null;
    return bearerChallenge({ error, scope: mcpScope, metadata });
  }
}

interface Challenge {
  readonly error: ChallengeError;
  /** Empty for none. */
  readonly scope: string;
  readonly metadata: string | null;
}

function bearerChallenge({ error, scope, metadata }: Challenge): string {
  const parts = ['realm="gatewright"'];
  if (error !== null) parts.push(`error="${error}"`);
  if (scope !== '') parts.push(`scope="${scope}"`);
  if (metadata !== null) parts.push(`resource_metadata="${metadata}"`);
  return `Bearer ${parts.join(', ')}`;
}

function placeOf(slug: string): string {
  return `mcp-metadata|${slug}`;
}

/** Names of scopes as RFC 6749 allows them; anything else would end the quotation. */
function scopesOf({ scope = '' }: UsableExternalAuth): string[] {
  return scope.split(' ').filter((one) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(one));
}
