/** Converts users to API records. */
import { z } from 'zod';
import { OrganisationRole } from '../../model/people/person.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredUser } from '../../store/people/users.ts';

/** Response of get, and items of the list. */
export const UserRecord = z.object({
  id: z.uuid(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  role: OrganisationRole,
  email: z.string(),
  status: z.enum(['active', 'inactive']),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  workspace_ids: z.array(z.uuid()),
  object: z.literal('user'),
});

export function userToRecord(
  row: StoredUser,
  workspaceIds: readonly string[],
): z.infer<typeof UserRecord> {
  return {
    id: row.id,
    first_name: row.first_name,
    last_name: row.last_name,
    role: row.role,
    email: row.email,
    status: row.status,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    workspace_ids: [...workspaceIds],
    object: 'user',
  };
}
