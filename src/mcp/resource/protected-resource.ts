/** Describes each MCP server of the gateway as an OAuth protected resource (RFC 9728): metadata, audiences and challenges. */

export interface ProtectedResourceOptions {
  /** Address at which clients reach the gateway, without a slash at its end; null when it is not configured. */
  readonly publicUrl: string | null;
  /** Issuers of the tokens of clients. */
  readonly authorizationServers: readonly string[];
  /** Audience of tokens for the whole gateway; null when it is not configured. */
  readonly audience: string | null;
}

/** Scope of every operation. */
export const mcpScope = 'mcp.invoke';

const metadataPath = '/.well-known/oauth-protected-resource';
const keySetPath = '/.well-known/jwks.json';
const serverPath = /^\/([A-Za-z0-9_-]{1,255})\/mcp$/;

export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;
  /** Path of the public address; empty for none. */
  readonly #prefix: string;
  /** Origin and path of all metadata; null when there is none. */
  readonly #metadataUrl: string | null;

  constructor(options: ProtectedResourceOptions) {
    const { publicUrl, authorizationServers } = options;
    this.#options = options;
    const url = publicUrl === null ? null : new URL(publicUrl);
    this.#prefix = url === null || url.pathname === '/' ? '' : url.pathname;
    // Clients that find no authorization server would look for one at the gateway.
    const hasMetadata = url !== null && authorizationServers.length > 0;
    this.#metadataUrl = hasMetadata ? `${url.origin}${metadataPath}${this.#prefix}` : null;
  }

  /**
   * The metadata of the server that a path names, whether the server exists or not; null for another path. The
   * path of the public address may be present, or have been removed by a proxy.
   */
  metadataAt(path: string): Record<string, unknown> | null {
    if (this.#metadataUrl === null || !path.startsWith(metadataPath)) return null;
    const rest = path.slice(metadataPath.length);
    const { publicUrl, authorizationServers } = this.#options;
    const inside = rest.startsWith(`${this.#prefix}/`) ? rest.slice(this.#prefix.length) : rest;
    const slug = serverPath.exec(inside)?.[1];
    if (slug === undefined) return null;
    return {
      resource: `${publicUrl}/${slug}/mcp`,
      authorization_servers: authorizationServers,
      scopes_supported: [mcpScope],
      bearer_methods_supported: ['header'],
    };
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

  /**
   * The value of `WWW-Authenticate`.
   *
   * @param error null when no credential was sent
   * @param slug null when the path names no server
   */
  challenge(error: 'invalid_token' | 'insufficient_scope' | null, slug: string | null): string {
    const parts = ['realm="gatewright"'];
    if (error !== null) parts.push(`error="${error}"`);
    parts.push(`scope="${mcpScope}"`);
    if (this.#metadataUrl !== null && slug !== null) {
      parts.push(`resource_metadata="${this.#metadataUrl}/${slug}/mcp"`);
    }
    return `Bearer ${parts.join(', ')}`;
  }
}
