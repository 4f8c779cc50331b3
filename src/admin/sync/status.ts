/** HTTP routes for the status of owners: reported by the run with the lease, readable by others. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import type { BodyLimits } from '../../model/json/body-limits.ts';
import { SyncReport, SyncStatus } from '../../model/kinds/sync-record.ts';
import { ManagedName } from '../../model/manifests/managed-by.ts';
import { findingOf } from '../../model/mcp/definition-pins.ts';
import { pageQuery, pageReply, pageSchema, toPage } from '../../model/wire/paging.ts';
import { formatTimestamp, formatTimestampOrNull } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as mcpDefinitions from '../../store/mcp/mcp-definitions.ts';
import * as syncRevisions from '../../store/sync/sync-revisions.ts';
import * as syncStatus from '../../store/sync/sync-status.ts';
import * as syncSuspensions from '../../store/sync/sync-suspensions.ts';
import { type AdminDeps, type AdminRequest, forOwners } from '../request/deps.ts';
import { claimScope, ownerOfLease, requireLease } from '../request/fencing.ts';
import type { QueryRequest } from '../request/frame-fields.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';
import { presentRevision, presentSuspension } from './sync-records.ts';

/** Enough for a thousand workspaces, each with a message and its announcements. */
const reportBody: BodyLimits = { bytesMax: 384 * 1024, valuesMax: 10_000 };

/** Reported definitions of all owners of a page. */
const findingsMax = 200;

const StatusQuery = z.object({
  /** All owners when left out. */
  owner: ManagedName.optional(),
  ...pageQuery({ sizeDefault: 20, sizeMax: 20 }),
});

export function syncStatusRoutes(deps: AdminDeps): Route<Principal>[] {
  const common = { path: '/gatewright/sync/status', mounts: { admin: ['access-token'] } } as const;
  return [
    route({
      ...common,
      ...forOwners,
      method: 'PUT',
      scope: claimScope,
      summary: 'Report the status of the owner whose lease the run holds',
      body: SyncReport,
      bodyLimits: reportBody,
      response: SyncStatus,
      handle: (request) => report(deps, request),
    }),
    route({
      ...common,
      mounts: { admin: ['access-token', 'session'] },
      method: 'GET',
      scope: 'organisation_settings.read',
      summary: 'List the owners with their status',
      query: StatusQuery,
      response: pageSchema(SyncStatus),
      handle: (request) => list(deps, request),
    }),
  ];
}

async function report(
  deps: AdminDeps,
  request: AdminRequest<Record<string, string>, undefined, SyncReport>,
): Promise<SyncStatus> {
  const { caller, body } = request;
  const { organisationId } = caller;
  requireWholeOrganisation(caller);
  const owner = ownerOfLease(request);
  return deps.database.transaction(async (tx) => {
    await requireLease(tx, request, owner);
    const report = JSON.stringify(body);
    await syncStatus.upsert(tx, { organisation_id: organisationId, owner, report });
    const page = { limit: 1, offset: 0 };
    const { rows } = await syncStatus.listOwners(tx, organisationId, owner, page);
    const [status] = await present(tx, organisationId, rows);
    return status!;
  });
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof StatusQuery>>) {
  const { caller, query } = request;
  requireWholeOrganisation(caller);
  const db = deps.database.readable;
  const page = toPage(query);
  const rows = await syncStatus.listOwners(db, caller.organisationId, query.owner, page);
  return pageReply(await present(db, caller.organisationId, rows.rows), page, rows);
}

async function present(
  db: Db,
  organisationId: string,
  rows: readonly syncStatus.OwnerStatus[],
): Promise<SyncStatus[]> {
  const owners = rows.map(({ owner }) => owner);
  const suspensions = await syncSuspensions.listActive(db, organisationId, owners);
  const revisions = await syncRevisions.listNewest(db, organisationId, owners);
  const findings = await mcpDefinitions.listFindingsOfOwners(
    db,
    organisationId,
    owners,
    findingsMax,
  );
  return rows.map(({ owner, now, report, told_at, run_id, holder, expires_at }) => {
    const revision = revisions.find((one) => one.owner === owner);
    const isHeld = run_id !== '' && expires_at > now;
    const definitions = findings
      .filter((one) => one.owner === owner)
      .map((one) => ({ integration: one.integration, ...findingOf(one) }));
    return {
      object: 'sync_status',
      owner,
      as_of: formatTimestamp(now),
      told_at: formatTimestampOrNull(told_at),
      report: report === null ? null : JSON.parse(report),
      revision: revision === undefined ? null : presentRevision(revision),
      lease: isHeld ? { holder, expires_at: formatTimestamp(expires_at) } : null,
      suspensions: suspensions.filter((one) => one.owner === owner).map(presentSuspension),
      ...(definitions.length === 0 ? {} : { definitions }),
    };
  });
}
