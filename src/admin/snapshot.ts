/** Knows the snapshot: everything an organisation declares, in one answer, for sync (docs/api.md, Snapshot). */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Unsealer } from '../auth/keyring.ts';
import type { Principal } from '../auth/principal.ts';
import { chooseCoding, coded, streamCodings } from '../http/content-coding.ts';
import { holdsTag } from '../http/entity-tag.ts';
import { RawReply, type Route, route } from '../http/route.ts';
import { SlicedText } from '../http/sliced-text.ts';
import { changesMax } from '../model/change-set.ts';
import type { KindName } from '../model/kinds.ts';
import { LongList } from '../model/long-list.ts';
import { ManagedName } from '../model/managed-by.ts';
import { covers } from '../model/scopes.ts';
import { Snapshot, type SnapshotResource } from '../model/snapshot.ts';
import { packageVersion } from '../package-root.ts';
import { featureSettings } from '../settings.ts';
import { readConsistently } from '../store/consistent-read.ts';
import type { ManagedResourceRow } from '../store/tables/managed-resources.ts';
import * as managedResources from '../store/tables/managed-resources.ts';
import * as snapshotMarks from '../store/tables/snapshot-marks.ts';
import type { AdminDeps } from './request/deps.ts';
import type { QueryRequest } from './request/frame-fields.ts';
import type { ReadOfKind, Resource } from './request/resource.ts';
import { requireWholeOrganisation } from './request/scoping.ts';

/** Whoever holds these may write every secret value, and is given what proves them unchanged. */
const secretWriters = [
  'managed_resources.claim',
  'organisation_mcp_integrations.update',
  'workspace_mcp_integrations.update',
  'organisation_integrations.update',
  'workspace_integrations.update',
  'secret_references.update',
];

const namedMax = 50;

const Query = z.object({
  owner: ManagedName,
  /** `own` leaves out what other owners have declared, save workspaces and what is named. */
  view: z.enum(['whole', 'own']).default('whole'),
  /** Ids and slugs of what others have declared and is asked for all the same, with commas between them. */
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
  const { caller, ifNoneMatch } = request;
  const { organisationId } = caller;
  requireWholeOrganisation(caller);
  const view = viewOf(deps, resources, request);
  // Who has it costs one look at the marks; whoever has not is told what belongs to its own tag.
  const now = tagOf(view, await snapshotMarks.read(deps.database.readable, organisationId));
  if (holdsTag(ifNoneMatch, now)) return new RawReply(304, null, tagged(now));
  const unsealer = await deps.keyring.unsealerOf(organisationId);
  const read = await readAll(deps, resources, view);
  return answer(view, read, unsealer, request);
}

/** What decides, beside the state of the organisation, what a caller is told. */
interface View {
  readonly organisationId: string;
  readonly owner: string;
  /** Null: everything. */
  readonly part: managedResources.OwnPart | null;
  readonly callerId: string;
  /** Key of the owner's fingerprints. */
  readonly key: Buffer;
  /** Whether the caller is told the key, and fingerprints. */
  readonly tellsFingerprints: boolean;
  readonly apiKeyPrefix: string;
  readonly switchedOff: NonNullable<Snapshot['switched_off']>;
}

function viewOf(
  { keyring, apiKeyPrefix, disabledFeatures }: AdminDeps,
  resources: readonly Resource[],
  { caller: { organisationId, id, scopes }, query }: QueryRequest<z.infer<typeof Query>>,
): View {
  const { owner, view, named = [] } = query;
  return {
    part: view === 'own' ? { owner, named } : null,
    ...{ organisationId, owner, callerId: id, apiKeyPrefix },
    switchedOff: resources.flatMap(({ kind, features }) => {
      const off = features.find((feature) => disabledFeatures.has(feature));
      return off === undefined ? [] : [{ kind, setting: featureSettings[off] }];
    }),
    key: keyring.fingerprintKey(organisationId, owner),
    tellsFingerprints: secretWriters.every((scope) => covers(scopes, scope)),
  };
}

const version = packageVersion();

/** Weak, because every coding bears it. Of the key it tells nothing. */
function tagOf(view: View, marks: string): string {
  const { organisationId, owner, part, callerId, key, tellsFingerprints } = view;
  const caller = [organisationId, owner, part, callerId, tellsFingerprints];
  const said = [version, ...caller, view.apiKeyPrefix, view.switchedOff, marks];
  const digest = createHmac('sha256', key).update(JSON.stringify(said)).digest('base64url');
  return `W/"${digest}"`;
}

function tagged(etag: string): Record<string, string> {
  return { etag, vary: 'accept-encoding' };
}

/** Made and compressed as it is read: what is held is the rows. */
function answer(
  view: View,
  read: Awaited<ReturnType<typeof readAll>>,
  unsealer: Unsealer,
  { acceptEncoding }: Pick<QueryRequest<unknown>, 'acceptEncoding'>,
): RawReply {
  const { organisationId, callerId, key, tellsFingerprints, apiKeyPrefix } = view;
  const fingerprintKey = tellsFingerprints ? key : null;
  const owners = new Map(read.managed.map((row) => [`${row.kind} ${row.resource_id}`, row]));
  const items = function* (): Generator<ToldResource> {
    for (const { kind, tell } of read.resources) {
      for (const told of tell({ unsealer, fingerprintKey })) {
        const managed_by = managedBy(owners.get(`${kind} ${told.id}`), callerId, tellsFingerprints);
        yield { kind, ...told, managed_by };
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
  const slices = new LongList<Snapshot>(frame, 'resources', items()).slices();
  const headers = tagged(tagOf(view, read.marks));
  const coding = chooseCoding(acceptEncoding, streamCodings);
  if (coding === null) return new RawReply(200, new SlicedText(slices), headers);
  const text = new SlicedText(coded(slices, coding));
  return new RawReply(200, text, { ...headers, 'content-encoding': coding });
}

/** A resource whose spec, which is JSON, is not looked into. */
type ToldResource = Omit<SnapshotResource, 'spec'> & { readonly spec: Record<string, unknown> };

/** All that is told as of one moment, with the marks of that moment; one query a table. */
function readAll(deps: AdminDeps, resources: readonly Resource[], { organisationId, part }: View) {
  return readConsistently(deps.database.readable, async (tx) => {
    const marks = await snapshotMarks.read(tx, organisationId);
    const read: ({ readonly kind: KindName } & ReadOfKind)[] = [];
    for (const { kind, snapshot: readFor } of resources) {
      // Everything is told by its workspace.
      const isWhole = part === null || kind === 'Workspace';
      const which = isWhole ? null : managedResources.seenOf(kind, part);
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
