/** Defines how the tokens of a connection were granted, as it is stored. */
import type { ClientAuthMethod } from './oauth-client.ts';

/** Contains no secret. */
export interface OAuthGrant {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | null;
  readonly clientId: string;
  readonly authMethod: ClientAuthMethod;
  /** The server that the tokens are for. */
  readonly resource: string;
  /** Null when the authorization server has granted no scope by name. */
  readonly scope: string | null;
}

/** An authorization that a user has begun. */
export interface PendingGrant extends OAuthGrant {
  /** Slug of the MCP server. */
  readonly slug: string;
  readonly redirectUri: string;
  /** Whether the response must name the issuer. */
  readonly namesIssuer: boolean;
}
