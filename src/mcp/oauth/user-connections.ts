/** Assembles the connections of users to MCP servers: their tokens for calls, and the site on which they connect an account. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Keyring } from '../../auth/keyring.ts';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import { AuthorizationRequests } from './begin-authorization.ts';
import { ConnectSite, type ConnectSiteOptions, clientAddresses } from './connect-site.ts';
import {
  AuthorizationResponses,
  type AuthorizationResponsesOptions,
} from './finish-authorization.ts';
import type { OAuthServer } from './oauth-server.ts';
import { UserAuthorization } from './user-authorization.ts';
import { UserTokens } from './user-tokens.ts';

export interface UserConnectionsOptions
  extends Omit<AuthorizationResponsesOptions, 'addresses' | 'keyring'>,
    Pick<ConnectSiteOptions, 'prove' | 'isUnavailable' | 'onFault'> {
  readonly keyring: Pick<Keyring, 'sealerOf' | 'unsealerOf' | 'signLink'>;
  /** Address at which clients reach the gateway, without a slash at its end; null when it is not configured. */
  readonly publicUrl: string | null;
}

export class UserConnections {
  readonly #tokens: UserTokens;
  /** Null without an address to which browsers return. */
  readonly #site: ConnectSite | null;

  constructor(options: UserConnectionsOptions) {
    const { publicUrl } = options;
    const addresses = publicUrl === null ? null : clientAddresses(publicUrl);
    const parts = { ...options, addresses };
    this.#tokens = new UserTokens(parts);
    const begin = new AuthorizationRequests(parts);
    const finish = new AuthorizationResponses(parts);
    this.#site =
      publicUrl === null || addresses === null
        ? null
        : new ConnectSite({ ...options, publicUrl, addresses, begin, finish });
  }

  /** Null for a server that needs no user's authorization. */
  authorizationOf(
    server: OAuthServer,
    key: Pick<GatewayKey, 'id' | 'kind' | 'personId'>,
  ): UserAuthorization | null {
    if (server.userOAuth === null) return null;
    const connectUrl = (scope: string | null) => this.#site?.connectUrl(server, scope) ?? null;
    return new UserAuthorization({ tokens: this.#tokens, server, key, connectUrl });
  }

  /** Returns the work of a request of a browser; null for any other request. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | null {
    return this.#site?.serve(request, response) ?? null;
  }
}
