/**
 * HTTP routes for suspensions: pauses of sync for an owner or one of its workspaces, with an optional end.
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { SuspensionBody, SyncSuspension } from '../../model/kinds/sync-record.ts';
import { ManagedName } from '../../model/manifests/managed-by.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestamp, parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import * as syncLeases from '../../store/sync/sync-leases.ts';
import * as syncSuspensions from '../../store/sync/sync-suspensions.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { claimScope } from '../request/fencing.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { auditOwner } from './owner-audit.ts';
import { presentSuspension } from './sync-records.ts';

/** The suspension to end; that of the whole owner when no workspace is named. */
const EndQuery = z.object({ owner: ManagedName, workspace: ManagedName.optional() });

const Ended = z.object({
  object: z.literal('sync_suspension_end'),
  /** Whether there was a suspension to end. */
  ended: z.boolean(),
});

export function syncSuspensionRoutes(deps: AdminDeps): Route<Principal>[] {
  const common = {
    path: '/gatewright/sync/suspensions',
    mounts: { admin: ['access-token', 'session'] },
    scope: claimScope,
    refusals: ['notFound', 'conflict'],
  } as const;
  return [
    route({
      ...common,
      method: 'PUT',
      summary: 'Suspend sync for an owner or one of its workspaces until a time, or until resumed',
      body: SuspensionBody,
      response: SyncSuspension,
      handle: (request) => suspend(deps, request),
    }),
    route({
      ...common,
      refusals: ['notFound'],
      method: 'DELETE',
      summary: 'End a suspension; no effect when there is none',
      query: EndQuery,
      response: Ended,
      handle: (request) => resume(deps, request),
    }),
  ];
}

type SuspendRequest = AdminRequest<Record<string, string>, undefined, SuspensionBody>;

async function suspend(deps: AdminDeps, request: SuspendRequest): Promise<SyncSuspension> {
  const { caller, body } = request;
  const { organisationId } = caller;
  const { owner, reason } = body;
  requireWholeOrganisation(caller);
  const workspace = body.workspace ?? '';
  const untilMs = body.until == null ? null : parseTimestamp(body.until);
  const forMs = body.for_seconds === undefined ? null : body.for_seconds * 1000;
  return deps.database.transaction(async (tx) => {
    await lockOwner(tx, organisationId, owner);
    if (workspace !== '') await requireWorkspaceOf(tx, organisationId, owner, workspace);
    await requireFuture(tx, untilMs);
    await syncSuspensions.deleteEnded(tx, organisationId, owner);
    const others = await syncSuspensions.listActive(tx, organisationId, [owner]);
    const isNew = others.every((one) => one.workspace !== workspace);
    if (isNew && others.length >= syncSuspensions.suspensionsMax) throw tooMany(owner);
    const who = { organisation_id: organisationId, owner, workspace };
    const times = { untilMs, forMs, rolledBackTo: body.rolled_back_to };
    await syncSuspensions.upsert(tx, { ...who, reason, suspended_by: caller.name, ...times });
    const row = await syncSuspensions.find(tx, organisationId, owner, workspace);
    const suspension = presentSuspension(row!);
    const { until, rolled_back_to } = suspension;
    const changes = { workspace, until, reason, ...(rolled_back_to && { rolled_back_to }) };
    await auditOwner(tx, deps, request, { owner, action: 'suspend', changes });
    return suspension;
  });
}

async function resume(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof EndQuery>>,
): Promise<z.infer<typeof Ended>> {
  const { caller, query } = request;
  const { owner, workspace = '' } = query;
  requireWholeOrganisation(caller);
  return deps.database.transaction(async (tx) => {
    await lockOwner(tx, caller.organisationId, owner);
    const ended = await syncSuspensions.deleteOne(tx, caller.organisationId, owner, workspace);
    const decision = { owner, action: 'resume', changes: { workspace } } as const;
    if (ended) await auditOwner(tx, deps, request, decision);
    return { object: 'sync_suspension_end', ended };
  });
}

/** Waits for running writes of the owner and serialises changes of its suspensions. */
async function lockOwner(tx: Db, organisationId: string, owner: string): Promise<void> {
  const lease = await syncLeases.findForUpdate(tx, organisationId, owner);
  if (lease !== undefined) return;
  const message = `No sync has written as owner "${owner}" in this organisation`;
  throw new ApiError('notFound', message, 'owner');
}

/** Refuses unknown workspaces, because a misspelt name would suspend nothing. */
async function requireWorkspaceOf(
  tx: Db,
  organisationId: string,
  owner: string,
  workspace: string,
): Promise<void> {
  if (await managedResources.ownsWithin(tx, organisationId, owner, workspace)) return;
  const message = `Owner "${owner}" has no workspace "${workspace}" and no resource in one`;
  throw new ApiError('notFound', message, 'workspace');
}

async function requireFuture(tx: Db, untilMs: number | null): Promise<void> {
  if (untilMs === null) return;
  const now = await readServerTime(tx);
  if (untilMs > now) return;
  const message = `is in the past: by the clock of the database it is ${formatTimestamp(now)}`;
  throw validationError({ path: ['until'], message });
}

function tooMany(owner: string): ApiError {
  const message = `Owner "${owner}" has ${syncSuspensions.suspensionsMax} suspensions, which is as \
many as it may have: suspend it as a whole`;
  return new ApiError('conflict', message, 'workspace');
}
