/**
 * Serves the snapshot: everything an organisation declares, in one response, for sync
 * (docs/reference/sync-api.md, Snapshot).
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Unsealer } from '../auth/keyring.ts';
import type { Principal } from '../auth/principal.ts';
import { SlicedText } from '../http/connections/sliced-text.ts';
import { chooseCoding, compressStream, streamCodings } from '../http/responses/content-coding.ts';
import { holdsTag } from '../http/responses/entity-tag.ts';
import { RawReply, type Route, route } from '../http/routes/route.ts';
import { changesMax } from '../model/kinds/change-set.ts';
import type { KindName } from '../model/kinds/kinds.ts';
import { Snapshot, type SnapshotResource } from '../model/kinds/snapshot.ts';
import { ManagedName } from '../model/manifests/managed-by.ts';
import { grantsScope } from '../model/people/scopes.ts';
import { StreamedList } from '../model/wire/streamed-list.ts';
import { packageVersion } from '../package-root.ts';
import { featureSettings } from '../settings.ts';
import { readConsistently } from '../store/consistent-read.ts';
import * as snapshotMarks from '../store/rows/snapshot-marks.ts';
import type { ManagedResourceRow } from '../store/sync/managed-resources.ts';
import * as managedResources from '../store/sync/managed-resources.ts';
import type { AdminDeps } from './request/deps.ts';
import type { QueryRequest } from './request/frame-fields.ts';
import type { Resource, SnapshotRows } from './request/resource.ts';
import { requireWholeOrganisation } from './request/scoping.ts';

/** A caller with all these scopes may write every secret value, so it receives the fingerprint key. */
const secretWriters = [
  'managed_resources.claim',
  'organisation_mcp_integrations.update',
  'workspace_mcp_integrations.update',
  'organisation_integrations.update',
  'workspace_integrations.update',
  'secret_references.update',
  'configs.update',
];

const namedMax = 50;

const Query = z.object({
  owner: ManagedName,
  /** `own` leaves out resources that other owners declared, except workspaces, providers and `named` ones. */
  view: z.enum(['whole', 'own']).default('whole'),
  /** Ids and slugs, comma-separated, of resources of other owners to include. */
  named: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().min(1)).max(namedMax))
    .optional(),
});

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
      summary: 'Get everything that sync compares with its manifests, as of one moment',
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
  const { caller, ifNoneMatch } = request;
  const { organisationId } = caller;
  requireWholeOrganisation(caller);
  const view = viewOf(deps, resources, request);
  // A caller with a current snapshot costs one query for the marks.
  const now = tagOf(view, await snapshotMarks.read(deps.database.readable, organisationId));
  if (holdsTag(ifNoneMatch, now)) return new RawReply(304, null, tagHeaders(now));
  const unsealer = await deps.keyring.unsealerOf(organisationId);
  const read = await readAll(deps, resources, view);
  return respond(view, read, unsealer, request);
}

/** Everything but the organisation's state that determines the response. */
interface View {
  readonly organisationId: string;
  readonly owner: string;
  /** Null for everything. */
  readonly part: managedResources.OwnerView | null;
  readonly callerId: string;
  /** Key of the owner's fingerprints. */
  readonly key: Buffer;
  /** Whether the response contains the key and fingerprints. */
  readonly showsFingerprints: boolean;
  readonly apiKeyPrefix: string;
  readonly switchedOff: NonNullable<Snapshot['switched_off']>;
}

/** The parts of a request that select the snapshot. */
interface Viewer {
  readonly caller: Pick<Principal, 'organisationId' | 'id' | 'scopes'>;
  readonly query: z.infer<typeof Query>;
}

function viewOf(
  { keyring, apiKeyPrefix, disabledFeatures }: AdminDeps,
  resources: readonly Resource[],
  { caller: { organisationId, id, scopes }, query }: Viewer,
): View {
  const { owner, view, named = [] } = query;
  return {
    part: view === 'own' ? { owner, named } : null,
    organisationId,
    owner,
    callerId: id,
    apiKeyPrefix,
    switchedOff: resources.flatMap(({ kind, features }) => {
      const off = features.find((feature) => disabledFeatures.has(feature));
      return off === undefined ? [] : [{ kind, setting: featureSettings[off] }];
    }),
    key: keyring.fingerprintKey(organisationId, owner),
    showsFingerprints: secretWriters.every((scope) => grantsScope(scopes, scope)),
  };
}

const version = packageVersion();

/** Weak, because all codings share it; an HMAC, so that it reveals nothing of the key. */
function tagOf(view: View, marks: string): string {
  const { organisationId, owner, part, callerId, key, showsFingerprints } = view;
  const caller = [organisationId, owner, part, callerId, showsFingerprints];
  const content = [version, ...caller, view.apiKeyPrefix, view.switchedOff, marks];
  const digest = createHmac('sha256', key).update(JSON.stringify(content)).digest('base64url');
  return `W/"${digest}"`;
}

function tagHeaders(etag: string): Record<string, string> {
  return { etag, vary: 'accept-encoding' };
}

/** Converts and compresses while the client reads, so that only the rows are in memory. */
function respond(
  view: View,
  read: Awaited<ReturnType<typeof readAll>>,
  unsealer: Unsealer,
  { acceptEncoding }: Pick<QueryRequest<unknown>, 'acceptEncoding'>,
): RawReply {
  const list = snapshotList(view, read, unsealer);
  const slices = list.slices();
  const headers = tagHeaders(tagOf(view, read.marks));
  const coding = chooseCoding(acceptEncoding, streamCodings);
  if (coding === null) return new RawReply(200, new SlicedText(slices), headers);
  const text = new SlicedText(compressStream(slices, coding));
  return new RawReply(200, text, { ...headers, 'content-encoding': coding });
}

function snapshotList(
  view: View,
  read: Awaited<ReturnType<typeof readAll>>,
  unsealer: Unsealer,
): StreamedList<Snapshot> {
  const { organisationId, callerId, key, showsFingerprints, apiKeyPrefix } = view;
  const fingerprintKey = showsFingerprints ? key : null;
  const owners = new Map(read.managed.map((row) => [`${row.kind} ${row.resource_id}`, row]));
  const items = function* (): Generator<OpaqueSnapshotResource> {
    for (const { kind, entries } of read.resources) {
      for (const entry of entries({ unsealer, fingerprintKey })) {
        const managed_by = managedBy(
          owners.get(`${kind} ${entry.id}`),
          callerId,
          showsFingerprints,
        );
        yield { kind, ...entry, managed_by };
      }
    }
  };
  const frame = {
    object: 'snapshot',
    organisation_id: organisationId,
    fingerprint_key: fingerprintKey?.toString('base64') ?? null,
    api_key_prefix: apiKeyPrefix,
    changes_max: changesMax,
    switched_off: view.switchedOff,
  } satisfies Omit<Snapshot, 'resources'>;
  return new StreamedList<Snapshot>(frame, 'resources', items());
}

/**
 * The JSON of what {@link snapshotRoutes} returns to the run of an owner who may write no secret: without any
 * fingerprint. `callerId` is the credential of that run.
 */
export async function snapshotText(
  deps: AdminDeps,
  resources: readonly Resource[],
  { organisationId, owner, callerId }: { organisationId: string; owner: string; callerId: string },
): Promise<string> {
  const caller = { organisationId, id: callerId, scopes: [] };
  const view = viewOf(deps, resources, { caller, query: { owner, view: 'whole' } });
  const unsealer = await deps.keyring.unsealerOf(organisationId);
  const read = await readAll(deps, resources, view);
  let text = '';
  for await (const slice of snapshotList(view, read, unsealer).slices()) text += slice;
  return text;
}

/** A snapshot resource whose spec is opaque JSON. */
type OpaqueSnapshotResource = Omit<SnapshotResource, 'spec'> & {
  readonly spec: Record<string, unknown>;
};

/** Reads all rows and the marks in one consistent snapshot, with one query per table. */
function readAll(deps: AdminDeps, resources: readonly Resource[], { organisationId, part }: View) {
  return readConsistently(deps.database.readable, async (tx) => {
    const marks = await snapshotMarks.read(tx, organisationId);
    const read: ({ readonly kind: KindName } & SnapshotRows)[] = [];
    for (const { kind, snapshot: readFor } of resources) {
      const isWhole = part === null || managedResources.kindsInEveryView.has(kind);
      const which = isWhole ? null : managedResources.visibleTo(kind, part);
      read.push({ kind, ...(await readFor(tx, organisationId, which)) });
    }
    const named = part?.named.length ? read.flatMap(({ ids }) => ids) : [];
    const managed = await managedResources.listForSnapshot(tx, organisationId, part, named);
    return { marks, resources: read, managed };
  });
}

function managedBy(
  row: ManagedResourceRow | undefined,
  callerId: string,
  showsFingerprints: boolean,
): SnapshotResource['managed_by'] {
  if (row === undefined) return null;
  return {
    owner: row.owner,
    workspace: row.workspace === '' ? null : row.workspace,
    name: row.name,
    source: JSON.parse(row.source),
    recorded_by_caller: row.recorded_by === callerId,
    last_applied: JSON.parse(row.last_applied, showsFingerprints ? undefined : hideFingerprint),
  };
}

/** JSON reviver: the record of the last apply contains fingerprints too. */
function hideFingerprint(_key: string, value: unknown): unknown {
  const isSecret = typeof value === 'object' && value !== null && '$secret' in value;
  return isSecret ? { ...value, fingerprint: '' } : value;
}
