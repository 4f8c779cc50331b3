/** Knows who is calling: the tenant, the workspace bound to the credential, and what it may do. */

export interface Person {
  readonly userId: string;
  /** Null where it is no session but a key. */
  readonly sessionId: string | null;
  /** False for who may see and change no user keys but their own. */
  readonly actsForOthers: boolean;
}

export interface Principal {
  readonly kind: 'service-account' | 'api-key' | 'user';
  /** Whom the credential stands for, where it is somebody's own; null for one of nobody in person. */
  readonly person: Person | null;
  /** Id of the service account, API key or user (uuid); never the credential itself. */
  readonly id: string;
  /** Name of the service account or API key, or address of the user, for messages and audit rows. */
  readonly name: string;
  readonly organisationId: string;
  readonly tsgId: string;
  /** Workspace (uuid) the credential is bound to; null when it may act on the whole organisation. */
  readonly workspaceId: string | null;
  /** Effective scopes; model/scopes.ts decides coverage. */
  readonly scopes: readonly string[];
}
