/** HTTP routes for the revisions of owners: each applied state of a source with its changes. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { type BodyLimits, documentBodyLimits } from '../../model/json/body-limits.ts';
import {
  MoreChanges,
  RevisionBody,
  type RevisionChange,
  RevisionWithChanges,
  revisionsMax,
  SyncRevision,
} from '../../model/kinds/sync-record.ts';
import { ManagedName } from '../../model/manifests/managed-by.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { pageQuery, pageReply, pageSchema, toPage } from '../../model/wire/paging.ts';
import { StreamedList } from '../../model/wire/streamed-list.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as syncRevisions from '../../store/sync/sync-revisions.ts';
import { type AdminDeps, type AdminRequest, forOwners } from '../request/deps.ts';
import { claimScope, ownerOfLease, requireLease, requireLeaseAlone } from '../request/fencing.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { presentRevision } from './sync-records.ts';

const RevisionParams = z.object({
  number: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be the number of a revision')
    .meta({ examples: ['1'] }),
});
type RevisionParams = z.infer<typeof RevisionParams>;

const OwnerQuery = z.object({ owner: ManagedName });
const PageQuery = z.object({
  owner: ManagedName,
  ...pageQuery({ sizeDefault: revisionsMax, sizeMax: revisionsMax }),
});

const changesBody: BodyLimits = documentBodyLimits;
const path = '/gatewright/sync/revisions';
const mounts = { admin: ['access-token'] } as const;

export function syncRevisionRoutes(deps: AdminDeps): Route<Principal>[] {
  const reading = {
    mounts: { admin: ['access-token', 'session'] },
    scope: 'organisation_settings.read',
    method: 'GET',
  } as const;
  const telling = { mounts, scope: claimScope, ...forOwners, bodyLimits: changesBody } as const;
  return [
    route({
      ...telling,
      path,
      method: 'POST',
      summary: 'Record the changes of a run as the next revision of its owner',
      body: RevisionBody,
      response: SyncRevision,
      handle: (request) => record(deps, request),
    }),
    route({
      ...telling,
      path: `${path}/:number/changes`,
      method: 'PUT',
      summary: 'Append changes to a revision; no effect for changes already recorded',
      params: RevisionParams,
      body: MoreChanges,
      refusals: ['notFound'],
      response: SyncRevision,
      handle: (request) => appendChanges(deps, request),
    }),
    route({
      ...reading,
      path,
      summary: 'List the revisions of an owner, newest first',
      query: PageQuery,
      response: pageSchema(SyncRevision),
      handle: (request) => list(deps, request),
    }),
    route({
      ...reading,
      path: `${path}/:number`,
      summary: 'Get a revision with its changes',
      params: RevisionParams,
      query: OwnerQuery,
      refusals: ['notFound'],
      response: RevisionWithChanges,
      handle: (request) => get(deps, request),
    }),
  ];
}

type RecordRequest = AdminRequest<Record<string, string>, undefined, RevisionBody>;

async function record(deps: AdminDeps, request: RecordRequest): Promise<SyncRevision> {
  const { caller, body } = request;
  requireWholeOrganisation(caller);
  const { changes, change_count = changes.length } = body;
  if (change_count < changes.length) {
    const message = `is less than the number of changes sent, ${changes.length}`;
    throw validationError({ path: ['change_count'], message });
  }
  const owner = ownerOfLease(request);
  const revision = {
    organisation_id: caller.organisationId,
    owner,
    commit_id: body.commit,
    source: body.source,
    ending: body.ending,
    change_count,
    started_at: parseTimestamp(body.started_at),
    finished_at: parseTimestamp(body.finished_at),
  };
  return deps.database.transaction(async (tx) => {
    await requireLeaseAlone(tx, request, owner);
    const number = await syncRevisions.insertNext(tx, revision, partOf(0, changes));
    const key = { organisation_id: caller.organisationId, owner, number };
    return presentRevision((await syncRevisions.find(tx, key))!);
  });
}

async function appendChanges(
  deps: AdminDeps,
  request: AdminRequest<RevisionParams, undefined, MoreChanges>,
): Promise<SyncRevision> {
  const { caller, params, body } = request;
  requireWholeOrganisation(caller);
  const owner = ownerOfLease(request);
  const key = keyOf(caller, owner, params);
  return deps.database.transaction(async (tx) => {
    await requireLease(tx, request, owner);
    const isRecorded = await syncRevisions.append(tx, key, partOf(body.start, body.changes));
    const row = await syncRevisions.find(tx, key);
    if (row === undefined) throw new ApiError('notFound');
    if (isRecorded) return presentRevision(row);
    const { recorded_count, change_count } = row;
    const message = `${recorded_count} of ${change_count} changes are recorded; send the ones after them`;
    throw new ApiError('conflict', message, 'start');
  });
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof PageQuery>>) {
  const { caller, query } = request;
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const page = toPage(query);
  const rows = await syncRevisions.listRevisions(db, caller.organisationId, query.owner, page);
  return pageReply(rows.rows.values().map(presentRevision), page, rows);
}

async function get(
  deps: AdminDeps,
  request: AdminRequest<RevisionParams, z.infer<typeof OwnerQuery>>,
) {
  const { caller, params, query } = request;
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const key = keyOf(caller, query.owner, params);
  const row = await syncRevisions.find(db, key);
  if (row === undefined) throw new ApiError('notFound');
  const changes = syncRevisions.changesOf(db, key);
  return new StreamedList<RevisionWithChanges>({ ...presentRevision(row) }, 'changes', changes);
}

function keyOf(
  { organisationId }: Principal,
  owner: string,
  { number }: RevisionParams,
): syncRevisions.RevisionKey {
  return { organisation_id: organisationId, owner, number: Number(number) };
}

function partOf(start: number, changes: readonly RevisionChange[]): syncRevisions.ChangesPart {
  return { start, count: changes.length, changes: JSON.stringify(changes) };
}
