/** Looks up the integrations of requests and checks their scopes. */
import type { Db } from '../../store/connection/db.ts';
import * as integrations from '../../store/resources/integrations.ts';
import { createLocationScopes } from '../access/location-scopes.ts';
import type { ItemRequest } from '../request/frame-fields.ts';
import { findIn } from '../request/scoping.ts';

export const integrationScopes = createLocationScopes({
  organisation: 'organisation_integrations',
  workspace: 'workspace_integrations',
});

/** The integration named by the path, if the caller may read it. */
export async function findReadable(
  db: Db,
  { caller, params, query }: Pick<ItemRequest, 'caller' | 'params' | 'query'>,
): Promise<integrations.StoredIntegration> {
  const finding = integrations.findByIdOrSlug(db, caller.organisationId, params.integrationId!);
  const row = await findIn(db, caller, query.workspace_id, finding);
  integrationScopes.require(caller, row, 'read');
  return row;
}
