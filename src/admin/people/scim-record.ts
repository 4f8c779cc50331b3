/** Shared schemas, pages and responses of the SCIM routes. */
import { z } from 'zod';
import type { ScimGroupState, ScimUserState } from '../../model/people/scim.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredScimGroup } from '../../store/people/scim-groups.ts';
import type { StoredUser } from '../../store/people/users.ts';

const Meta = z.object({
  resourceType: z.enum(['User', 'Group']),
  created: ResponseTimestamp,
  lastModified: ResponseTimestamp,
  version: z.string(),
  location: z.string(),
});
const shared = {
  schemas: z.array(z.string()),
  id: z.uuid(),
  externalId: z.string().optional(),
  meta: Meta,
};

export const ScimUser = z.object({
  ...shared,
  userName: z.string(),
  name: z.object({ givenName: z.string().optional(), familyName: z.string().optional() }),
  emails: z.array(
    z.object({ value: z.string(), type: z.literal('work'), primary: z.literal(true) }),
  ),
  active: z.boolean(),
});

export const ScimGroup = z.object({
  ...shared,
  displayName: z.string(),
  members: z.array(z.object({ value: z.uuid() })).optional(),
});

export function toScimUser(row: StoredUser): z.infer<typeof ScimUser> {
  const { first_name: givenName, last_name: familyName } = row;
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id: row.id,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    userName: row.email,
    name: {
      ...(givenName === null ? {} : { givenName }),
      ...(familyName === null ? {} : { familyName }),
    },
    emails: [{ value: row.email, type: 'work', primary: true }],
    active: row.status === 'active',
    meta: metaOf('User', row),
  };
}

/** `members` are user ids; undefined when they were not requested. */
export function toScimGroup(
  row: StoredScimGroup,
  members: readonly string[] | undefined,
): z.infer<typeof ScimGroup> {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    id: row.id,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    displayName: row.name,
    ...(members === undefined ? {} : { members: members.map((value) => ({ value })) }),
    meta: metaOf('Group', row),
  };
}

export function toUserState(row: StoredUser): ScimUserState {
  return {
    userName: row.email,
    externalId: row.external_id,
    active: row.status === 'active',
    givenName: row.first_name,
    familyName: row.last_name,
  };
}

export function toGroupState(row: StoredScimGroup, members: readonly string[]): ScimGroupState {
  return { displayName: row.name, externalId: row.external_id, members: new Set(members) };
}

function metaOf(
  resourceType: 'User' | 'Group',
  row: Pick<StoredUser, 'id' | 'version' | 'created_at' | 'last_updated_at'>,
): z.infer<typeof Meta> {
  return {
    resourceType,
    created: formatTimestamp(row.created_at),
    lastModified: formatTimestamp(row.last_updated_at),
    version: `"${row.version}"`,
    location: `/v1/scim/v2/${resourceType}s/${row.id}`,
  };
}
