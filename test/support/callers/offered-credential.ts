/** Describes a credential that a test sends: its headers, its kind and its grants. */
import type { CredentialKind } from '../../../src/http/routes/route.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';

export interface OfferedCredential {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The kind that a route must accept. */
  readonly kind: CredentialKind;
  /** Null for a credential that is not or no longer valid. */
  readonly grants: Grants | null;
}

export interface Grants {
  readonly scopes: readonly string[];
  readonly organisation: 'own' | 'other';
  /** Null when it is bound to none. */
  readonly workspaceId: string | null;
  /** Whether it belongs to a member, whom a workspace can restrict beyond the scopes. */
  readonly isOfMember: boolean;
}

export const wholeOrganisation: Grants = {
  scopes: allScopes,
  organisation: 'own',
  workspaceId: null,
  isOfMember: false,
};

export const asBearer = (value: string) => ({ authorization: `Bearer ${value}` });
export const asKey = (value: string) => ({ 'x-gateway-api-key': value });
