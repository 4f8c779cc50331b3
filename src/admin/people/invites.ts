/** HTTP routes for invites (docs/reference/access.md, Invites). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { InviteCreate, InviteStatus } from '../../model/people/invite.ts';
import { AssignedRole, emailKey } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import {
  listReply,
  listSchema,
  pageQueryInBothSpellings,
  toPageFromBothSpellings,
} from '../../model/wire/paging.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { cancelInvite, createInvite, resendInvite } from './invite-changes.ts';
import { InviteCreated, InviteRecord, inviteToRecord, linkOf } from './invite-record.ts';

const ListQuery = z.object({
  ...pageQueryInBothSpellings(),
  status: InviteStatus.optional(),
  role: AssignedRole.optional(),
  /** The complete address. */
  email: z.string().min(1).max(254).optional(),
});

export function inviteRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/admin/users/invites' } as const;
  const item = { mounts: everyMount, path: `${all.path}/:id` } as const;
  return [
    route({
      ...all,
      method: 'POST',
      scope: 'organisation_users.create',
      summary: 'Invite somebody into the organisation',
      body: InviteCreate,
      response: InviteCreated,
      handle: async (request) => {
        const row = await createInvite(deps, request);
        return { ...inviteToRecord(row, request.now), invite_link: linkOf(row) };
      },
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'organisation_users.list',
      summary: 'List invites',
      query: ListQuery,
      response: listSchema(InviteRecord),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'organisation_users.read',
      summary: 'Get an invite',
      response: InviteRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'organisation_users.delete',
      versioned: true,
      summary: 'Cancel an invite',
      refusals: ['conflict'],
      response: z.object({}),
      handle: (request) => cancelInvite(deps, request),
    }),
    route({
      mounts: everyMount,
      path: `${item.path}/resend`,
      method: 'POST',
      scope: 'organisation_users.create',
      versioned: true,
      summary: 'Open an invite again for the full lifetime',
      body: z.object({}),
      response: z.object({ inviteLink: z.string() }),
      handle: async (request) => ({ inviteLink: linkOf(await resendInvite(deps, request)) }),
    }),
  ];
}

async function list(
  deps: AdminDeps,
  { caller, query, now }: QueryRequest<z.infer<typeof ListQuery>>,
) {
  requireWholeOrganisation(caller);
  const { status, role, email } = query;
  const filter = { status, role, emailKey: email === undefined ? undefined : emailKey(email) };
  const db = deps.database.readable;
  const page = toPageFromBothSpellings(query);
  const { rows, total } = await userInvites.list(db, caller.organisationId, filter, page, now);
  return listReply(
    rows.values().map((row) => inviteToRecord(row, now)),
    total,
  );
}

async function get(deps: AdminDeps, { caller, params, now }: AdminRequest) {
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const row = await userInvites.findById(db, caller.organisationId, idOr404(params.id!));
  if (row === undefined) throw new ApiError('notFound');
  return withVersionTag(inviteToRecord(row, now), row);
}
