/** Inserts an organisation with its first owner. */
import { emailKey } from '../model/people/person.ts';
import { newId } from '../model/wire/ids.ts';
import type { Db } from './connection/db.ts';
import * as users from './people/users.ts';
import * as organisations from './resources/organisations.ts';

export interface NewOrganisation {
  readonly tsgId: string;
  readonly parentTsgId: string | null;
  readonly name: string;
  /** An unused internal address when absent. */
  readonly ownerEmail?: string | undefined;
  readonly now: number;
}

/** Returns the ids of the organisation and of its owner. Throws errno 1062 when the TSG id is taken. */
export async function insertOrganisation(
  tx: Db,
  { tsgId, parentTsgId, name, ownerEmail, now }: NewOrganisation,
): Promise<{ readonly id: string; readonly ownerId: string }> {
  const id = newId();
  await organisations.insert(tx, {
    id,
    tsg_id: tsgId,
    parent_tsg_id: parentTsgId,
    name,
    api_key_max_ttl_days: null,
    created_at: now,
  });
  const ownerId = newId();
  const email = ownerEmail ?? `owner@${tsgId}.gatewright.internal`;
  await users.insert(tx, {
    id: ownerId,
    organisation_id: id,
    email,
    email_key: emailKey(email),
    first_name: null,
    last_name: null,
    // The owner guarantees that the organisation always has a user with full rights.
    role: 'owner',
    status: 'active',
    source: 'bootstrap',
    external_id: null,
    created_at: now,
    last_updated_at: now,
  });
  return { id, ownerId };
}
