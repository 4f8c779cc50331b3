/** Adds people to an organisation. */
import { randomUUID } from 'node:crypto';
import { emailKey } from '../../../src/model/people/person.ts';
import * as users from '../../../src/store/people/users.ts';
import type { TestServer } from './server.ts';

/** Adds a user from a directory, a plain member by default. */
export async function addUser(
  { database, organisationId, clock }: TestServer,
  fields: Partial<Parameters<typeof users.insert>[1]> = {},
): Promise<string> {
  const id = fields.id ?? randomUUID();
  const email = fields.email ?? `user-${id}@example.com`;
  const row: Parameters<typeof users.insert>[1] = {
    id,
    organisation_id: organisationId,
    email,
    email_key: emailKey(email),
    first_name: null,
    last_name: null,
    role: 'member',
    status: 'active',
    source: 'scim',
    external_id: null,
    created_at: clock.now(),
    last_updated_at: clock.now(),
    ...fields,
  };
  await database.transaction((tx) => users.insert(tx, row));
  return id;
}

/** The initial owner of the organisation. */
export async function ownerOf(
  server: Pick<TestServer, 'database' | 'organisationId'>,
): Promise<string> {
  const { id } = await server.database.db
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', server.organisationId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow();
  return id;
}
