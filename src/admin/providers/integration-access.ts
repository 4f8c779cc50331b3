/** Knows how requests find integrations, and which scope one asks for. */
import type { Db } from '../../store/connection/db.ts';
import type * as integrations from '../../store/tables/integrations.ts';
import type { AdminRequest } from '../request/deps.ts';
import { placedScopes } from '../request/placed-scopes.ts';
import { findOr404 } from '../request/scoping.ts';

export const integrationScopes = placedScopes({
  organisation: 'organisation_integrations',
  workspace: 'workspace_integrations',
});

/** The integration the path names. */
export async function findIntegration(
  db: Db,
  { caller, params }: Pick<AdminRequest, 'caller' | 'params'>,
  find: typeof integrations.findByIdOrSlug,
): Promise<integrations.StoredIntegration> {
  const found = await find(db, caller.organisationId, params.integrationId!);
  return findOr404(caller, found);
}
