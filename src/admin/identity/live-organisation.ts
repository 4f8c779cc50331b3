/** Keeps the caller's organisation from being deleted while an account or a tenant is created in it. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import * as organisations from '../../store/resources/organisations.ts';

/**
 * Locks the organisation until the transaction ends.
 *
 * @throws ApiError `notFound` when it was deleted meanwhile
 */
export async function requireOrganisation(
  tx: Db,
  { organisationId }: Pick<Principal, 'organisationId'>,
): Promise<void> {
  const row = await organisations.findByIdForUpdate(tx, organisationId);
  if (row === undefined) throw new ApiError('notFound');
}
