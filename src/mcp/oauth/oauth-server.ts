/** Defines what OAuth needs to know of an MCP server of the gateway, and what the parts of OAuth share. */
import type { Keyring } from '../../auth/keyring.ts';
import type { Database } from '../../store/connection/db.ts';
import type { ClientSecrets } from './client-secrets.ts';
import type { ClientAddresses } from './oauth-client.ts';
import type { OAuthRequests } from './oauth-http.ts';
import type { UserOAuth } from './user-oauth.ts';

/** An MCP server whose users authorize the gateway. */
export interface OAuthServer {
  readonly id: string;
  readonly slug: string;
  readonly organisationId: string;
  readonly integrationId: string;
  readonly url: URL;
  /** Null for a server that needs no user's authorization. */
  readonly userOAuth: UserOAuth | null;
}

export interface OAuthParts {
  readonly database: Pick<Database, 'db' | 'readable' | 'transaction'>;
  readonly keyring: Pick<Keyring, 'sealerOf' | 'unsealerOf'>;
  readonly requests: OAuthRequests;
  readonly secrets: ClientSecrets;
  /** Null when the address of the gateway is not configured. */
  readonly addresses: ClientAddresses | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
