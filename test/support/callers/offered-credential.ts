/** Knows what a test says of a credential that is offered: how it is sent, as what it counts, and what it may. */
import type { CredentialKind } from '../../../src/http/routes/route.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';

export interface OfferedCredential {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As what a route has to accept it for it to count. */
  readonly kind: CredentialKind;
  /** Null for one that is good for nothing any more, or never was. */
  readonly grants: Grants | null;
}

export interface Grants {
  readonly scopes: readonly string[];
  readonly organisation: 'own' | 'other';
  /** Null where it is bound to none. */
  readonly workspaceId: string | null;
  /** Of somebody whom a workspace may hold back from more than scopes say. */
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
