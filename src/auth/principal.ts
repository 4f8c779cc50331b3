/** Defines the authenticated caller of the Admin API: tenant, workspace and scopes. */

export interface Person {
  readonly userId: string;
  /** Null for a user's API key. */
  readonly sessionId: string | null;
  /** False for a user who may see and change only their own user keys. */
  readonly actsForOthers: boolean;
}

export interface Principal {
  readonly kind: 'service-account' | 'api-key' | 'user';
  /** User whom the credential represents; null for service accounts and workspace keys. */
  readonly person: Person | null;
  /** Id of the service account, API key or user (uuid); never the credential itself. */
  readonly id: string;
  /** Name of the service account or API key, or address of the user, for messages and audit rows. */
  readonly name: string;
  readonly organisationId: string;
  readonly tsgId: string;
  /** Workspace (uuid) the credential is bound to; null when it may act on the whole organisation. */
  readonly workspaceId: string | null;
  /** Effective scopes; model/people/scopes.ts decides coverage. */
  readonly scopes: readonly string[];
}
