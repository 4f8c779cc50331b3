/** Knows the snapshot: everything an organisation declares, in one answer, for sync (docs/api.md, Snapshot). */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { holdsTag } from '../http/entity-tag.ts';
import { RawReply, type Route, route } from '../http/route.ts';
import { SlicedText } from '../http/sliced-text.ts';
import { ApiError } from '../model/errors.ts';
import type { KindName } from '../model/kinds.ts';
import { LongList } from '../model/long-list.ts';
import { ManagedName } from '../model/managed-by.ts';
import { covers } from '../model/scopes.ts';
import { Snapshot, type SnapshotResource } from '../model/snapshot.ts';
import { readConsistently } from '../store/consistent-read.ts';
import type { ManagedResourceRow } from '../store/tables/managed-resources.ts';
import * as managedResources from '../store/tables/managed-resources.ts';
import type { AdminDeps } from './request/deps.ts';
import type { QueryRequest } from './request/frame-fields.ts';
import type { Resource } from './request/resource.ts';

/** Whoever holds these may write every header value, and is given what proves them unchanged. */
const secretWriters = [
  'managed_resources.claim',
  'organisation_mcp_integrations.update',
  'workspace_mcp_integrations.update',
];

const Query = z.object({ owner: ManagedName });

export function snapshotRoutes(
  deps: AdminDeps,
  resources: readonly Resource[],
): Route<Principal>[] {
  return [
    route({
      method: 'GET',
      path: '/gatewright/snapshot',
      mounts: { admin: ['access-token'] },
      scope: 'organisation_settings.read',
      summary: 'Get everything sync compares with its manifests, as of one moment',
      query: Query,
      revalidated: true,
      response: Snapshot,
      handle: (request) => snapshot(deps, resources, request),
    }),
  ];
}

async function snapshot(
  deps: AdminDeps,
  resources: readonly Resource[],
  request: QueryRequest<z.infer<typeof Query>>,
): Promise<RawReply> {
  const { caller, query, ifNoneMatch } = request;
  const { organisationId } = caller;
  if (caller.workspaceId !== null) throw new ApiError('forbidden');
  const { keyring, apiKeyPrefix } = deps;
  const mayWrite = secretWriters.every((scope) => covers(caller.scopes, scope));
  const fingerprintKey = mayWrite ? keyring.fingerprintKey(organisationId, query.owner) : null;
  const read = await readAll(deps, resources, organisationId);
  const owners = new Map(read.managed.map((row) => [`${row.kind} ${row.resource_id}`, row]));
  const items = function* (): Generator<ToldResource> {
    for (const { kind, tell } of read.resources) {
      for (const told of tell({ keyring, fingerprintKey })) {
        const managed_by = managedBy(owners.get(`${kind} ${told.id}`), caller.id, mayWrite);
        yield { kind, ...told, managed_by };
      }
    }
  };
  const frame = {
    object: 'snapshot',
    organisation_id: organisationId,
    fingerprint_key: fingerprintKey?.toString('base64') ?? null,
    api_key_prefix: apiKeyPrefix,
  } satisfies Omit<Snapshot, 'resources'>;
  return tagged(new LongList<Snapshot>(frame, 'resources', items()), ifNoneMatch);
}

/** The tag stands before the text and is made of all of it, so the slices are kept until they go out. */
async function tagged(list: LongList<unknown>, ifNoneMatch: string | null): Promise<RawReply> {
  const hash = createHash('sha256');
  const slices: Buffer[] = [];
  for await (const text of list.slices()) {
    const slice = Buffer.from(text);
    hash.update(slice);
    slices.push(slice);
  }
  const etag = `"${hash.digest('base64url')}"`;
  if (holdsTag(ifNoneMatch, etag)) return new RawReply(304, null, { etag });
  const bytes = slices.reduce((sum, { length }) => sum + length, 0);
  return new RawReply(200, new SlicedText(slices, bytes), { etag });
}

/** A resource whose spec, which is JSON, is not looked into. */
type ToldResource = Omit<SnapshotResource, 'spec'> & { readonly spec: Record<string, unknown> };

/** Everything as of one moment, one query a table. */
function readAll(deps: AdminDeps, resources: readonly Resource[], organisationId: string) {
  return readConsistently(deps.database.readable, async (tx) => {
    const read: { kind: KindName; tell: Awaited<ReturnType<Resource['snapshot']>> }[] = [];
    for (const { kind, snapshot: readFor } of resources) {
      read.push({ kind, tell: await readFor(tx, organisationId) });
    }
    const managed = await managedResources.listAllForOrganisation(tx, organisationId);
    return { resources: read, managed };
  });
}

function managedBy(
  row: ManagedResourceRow | undefined,
  callerId: string,
  tellsFingerprints: boolean,
): SnapshotResource['managed_by'] {
  if (row === undefined) return null;
  return {
    owner: row.owner,
    workspace: row.workspace === '' ? null : row.workspace,
    name: row.name,
    source: JSON.parse(row.source),
    recorded_by_caller: row.recorded_by === callerId,
    last_applied: JSON.parse(row.last_applied, tellsFingerprints ? undefined : hideFingerprint),
  };
}

/** Reviver of JSON: the record of what was applied holds fingerprints too. */
function hideFingerprint(_key: string, value: unknown): unknown {
  const isSecret = typeof value === 'object' && value !== null && '$secret' in value;
  return isSecret ? { ...value, fingerprint: '' } : value;
}
