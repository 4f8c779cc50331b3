/** Knows who is calling: the tenant, the workspace bound to the credential, and what it may do. */

export interface Principal {
  readonly kind: 'service-account' | 'api-key';
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
