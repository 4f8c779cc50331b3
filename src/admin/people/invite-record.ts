/** Converts invites to API records, without the scopes. */
import { z } from 'zod';
import { InvitedMembership, InviteStatus, inviteStatus } from '../../model/people/invite.ts';
import { AssignedRole } from '../../model/people/person.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import type { StoredInvite } from '../../store/people/user-invites.ts';

/** Response of get, and items of the list. */
export const InviteRecord = z.object({
  id: z.uuid(),
  email: z.string(),
  role: AssignedRole,
  status: InviteStatus,
  workspaces: z.array(InvitedMembership),
  created_at: ResponseTimestamp,
  expires_at: ResponseTimestamp,
  accepted_at: ResponseTimestamp.nullable(),
  invited_by: z.string(),
  object: z.literal('invite'),
});

/** Response of create. */
export const InviteCreated = InviteRecord.extend({ invite_link: z.string() });

export function inviteToRecord(row: StoredInvite, now: number): z.infer<typeof InviteRecord> {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: inviteStatus(row, now),
    workspaces: readDocument<InvitedMembership[]>(row.workspaces) ?? [],
    created_at: formatTimestamp(row.created_at),
    expires_at: formatTimestamp(row.expires_at),
    accepted_at: formatTimestampOrNull(row.accepted_at),
    invited_by: row.invited_by,
    object: 'invite',
  };
}

/** Path that identifies the invite; it grants nothing by itself. */
export function linkOf({ id }: Pick<StoredInvite, 'id'>): string {
  return `/invites/${id}`;
}
