/** Knows who is calling: the tenant, the workspace bound to the credential, and what it may do. */

export interface Person {
  readonly userId: string;
}

export interface Principal {
  readonly kind: 'service-account' | 'api-key';
  /** Whom the credential stands for, where it is somebody's own; null for one of nobody in person. */
  readonly person: Person | null;
  /** Service account id or API key id (uuid); never the credential itself. */
  readonly id: string;
  /** Service account name or API key name, for messages and audit rows. */
  readonly name: string;
  readonly organisationId: string;
  readonly tsgId: string;
  /** Workspace (uuid) the credential is bound to; null when it may act on the whole organisation. */
  readonly workspaceId: string | null;
  /** Effective scopes; model/scopes.ts decides coverage. */
  readonly scopes: readonly string[];
}
