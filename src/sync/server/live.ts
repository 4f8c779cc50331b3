/** Knows how the server's state is read: one snapshot, brought into the same words as the manifests. */
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { type KindName, kindNames, kinds } from '../../model/kinds/kinds.ts';
import { Snapshot, type SnapshotResource } from '../../model/kinds/snapshot.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import {
  type ExternalResource,
  identityKey,
  type Json,
  type LiveResource,
  type LiveSet,
  type Spec,
} from '../resources/resource-set.ts';
import { mapSpec } from '../resources/spec-paths.ts';
import type { AdminClient } from './client.ts';
import { decoded } from './coded-answer.ts';
import { identify } from './live-identities.ts';
import { withoutUnknown } from './newer-server.ts';
import type { SnapshotQuery } from './snapshot-cache.ts';

/** What was read before; hand it in again to pay for nothing when nothing has changed. */
export interface SnapshotRead {
  readonly query: SnapshotQuery;
  readonly snapshot: Snapshot;
  readonly etag: string;
  /** What a newer server tells and this version does not know; absent where there is nothing. */
  readonly unknown?: readonly string[] | undefined;
}

/** Everything that the organisation has. */
export function wholeSnapshot(owner: string): SnapshotQuery {
  const query = new URLSearchParams({ owner });
  return { view: 'whole', path: `/admin/v2/gatewright/snapshot?${query}` };
}

const namedMax = 50;
const namedCharactersMax = 4_000;

/**
 * What one owner has to see while nothing changes: all but what others have declared, save what its
 * Externals lead to. Null where that cannot be asked for: by a name, of which there may be several,
 * and by very many.
 */
export function ownSnapshot(
  owner: string,
  externals: readonly ExternalResource[],
): SnapshotQuery | null {
  // Workspaces are told to everybody.
  const named = externals.filter(({ identity }) => identity.kind !== 'Workspace');
  const text = named
    .map(({ lookup }) => lookup)
    .toSorted()
    .join();
  const isSaid = externals.every(({ by, lookup }) => by !== 'name' && !lookup.includes(','));
  if (!isSaid || named.length > namedMax || text.length > namedCharactersMax) return null;
  const words = { owner, view: 'own', ...(text === '' ? {} : { named: text }) };
  return { view: 'own', path: `/admin/v2/gatewright/snapshot?${new URLSearchParams(words)}` };
}

/**
 * Reads what is asked for in one request, or learns in one that `previous`, or what an earlier run has
 * kept, still holds.
 *
 * @throws Failure (unreachable) when the server is out of reach, refuses, or answers something else
 */
export async function readSnapshot(
  client: AdminClient,
  previous: SnapshotRead | null,
  signal?: AbortSignal,
  query: SnapshotQuery = wholeSnapshot(client.owner),
): Promise<SnapshotRead> {
  const known = previous?.query.path === query.path ? previous : null;
  const cache = client.snapshotCache(query);
  const kept = known === null ? ((await cache?.read()) ?? null) : null;
  const { status, etag, body, coded } = await ask(client, query, known ?? kept, signal);
  if (status === 304 && known !== null) return known;
  if (status === 304 && kept !== null) {
    const told: unknown = JSON.parse(await decoded(kept.body));
    // Sealed by this account when it had been read: to judge it again would tell nothing new.
    if (kept.isProven) return { query, snapshot: told as Snapshot, etag: kept.etag };
    return await readable(query, told, kept.etag);
  }
  const read = await readable(query, body, etag ?? '');
  if (etag !== null && coded !== null) {
    await cache?.keep({ etag, body: coded, isProven: isAsRead(body, read) });
  }
  return read;
}

/** Whether what was told holds every word that this version reads from it, so that nothing was put in. */
function isAsRead(told: unknown, { snapshot, unknown = [] }: SnapshotRead): boolean {
  const { api_key_prefix: prefix, resources } = told as Partial<Snapshot>;
  const saysAll = (resources ?? []).every(
    ({ managed_by: managed }) => managed?.recorded_by_caller !== undefined || managed === null,
  );
  return unknown.length === 0 && prefix === snapshot.api_key_prefix && saysAll;
}

async function ask(
  client: AdminClient,
  { path }: SnapshotQuery,
  known: { readonly etag: string } | null,
  signal: AbortSignal | undefined,
): ReturnType<AdminClient['request']> {
  try {
    return await client.request({ method: 'GET', path, ifNoneMatch: known?.etag ?? null, signal });
  } catch (error) {
    if (error instanceof Failure || signal?.aborted) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the server does not give its state: ${reason}`;
    throw new Failure('unreachable', message, { cause: error });
  }
}

/** @throws Failure (unreachable) for what is no snapshot of this form */
async function readable(query: SnapshotQuery, told: unknown, etag: string): Promise<SnapshotRead> {
  const { body, unknown } = await withoutUnknown(told);
  const snapshot = formFor(body).safeParse(body);
  if (snapshot.success) return { query, snapshot: snapshot.data, etag, unknown };
  throw new Failure(
    'unreachable',
    'the server answers a snapshot that this version cannot read; is it a gatewright server of the same version?',
    { cause: snapshot.error },
  );
}

/** From so many on it takes less time to compile the form and ask that. */
const manyResources = 2_000;
let compiled: typeof Snapshot | null = null;

function formFor(body: unknown): typeof Snapshot {
  const { resources } = (body ?? {}) as { resources?: unknown };
  if (!Array.isArray(resources) || resources.length < manyResources) return Snapshot;
  compiled ??= z.compile(Snapshot);
  return compiled;
}

/**
 * Brings a snapshot into the manifests' words: what an External points at gets its name, what is
 * managed the name its owner declared, and every id or slug of a known resource becomes a `$ref`.
 */
export function toLiveSet(
  { snapshot, etag, unknown = [] }: Omit<SnapshotRead, 'query'>,
  owner: string,
  externals: readonly ExternalResource[],
): LiveSet {
  const identities = identify(snapshot.resources, owner, externals);
  const byKind = new Map<KindName, Map<string, string>>(kindNames.map((kind) => [kind, new Map()]));
  const bySlug = new Map<KindName, Map<string, string>>(kindNames.map((kind) => [kind, new Map()]));
  for (const resource of snapshot.resources) {
    const key = identityKey(identities.get(resource)!);
    byKind.get(resource.kind)!.set(resource.id, key);
    if (resource.slug !== null) bySlug.get(resource.kind)!.set(resource.slug, key);
  }
  const find = (kind: KindName, by: 'id' | 'slug', value: string): string | undefined =>
    byKind.get(kind)!.get(value) ?? (by === 'slug' ? bySlug.get(kind)!.get(value) : undefined);
  return {
    etag,
    unknown,
    switchedOff: new Map((snapshot.switched_off ?? []).map(({ kind, setting }) => [kind, setting])),
    fingerprintKey:
      snapshot.fingerprint_key === null ? null : Buffer.from(snapshot.fingerprint_key, 'base64'),
    resources: snapshot.resources.map((resource) => {
      const managed = resource.managed_by;
      return {
        identity: identities.get(resource)!,
        id: resource.id,
        slug: resource.slug,
        version: resource.version,
        spec: withReferences(resource, find),
        rotation: resource.rotation ?? null,
        owner: managed?.owner ?? null,
        isOfDeployment: resource.creation_mode === 'auto',
        isRecordedHere: managed?.recorded_by_caller ?? true,
        base: managed?.last_applied ?? null,
        declared: managed === null ? null : identityKey({ ...managed, kind: resource.kind }),
        source: managed?.source ?? null,
        title: resource.name ?? '',
      } satisfies LiveResource;
    }),
  };
}

function withReferences(
  resource: SnapshotResource,
  find: (kind: KindName, by: 'id' | 'slug', value: string) => string | undefined,
): Spec {
  const { references } = kinds[resource.kind];
  const heads = referenceHeads(resource.kind);
  const spec: Spec =
    heads.has('workspace_id') && resource.workspace_id !== null
      ? { ...resource.spec, workspace_id: resource.workspace_id }
      : resource.spec;
  // Beside what can hold a reference nothing is looked into.
  const holding = Object.entries(spec).filter(([field]) => heads.has(field));
  if (holding.length === 0) return spec;
  const named = mapSpec(Object.fromEntries(holding), (value, segments) => {
    if (typeof value !== 'string') return undefined;
    for (const { path, kind, by } of references) {
      const key = matchesPattern(path, segments) ? find(kind, by, value) : undefined;
      if (key !== undefined) return { $ref: key } satisfies Json;
    }
    return undefined;
  });
  return { ...spec, ...named };
}

const headsByKind = new Map<KindName, ReadonlySet<string>>();

/** Fields of a spec in which, or below which, references stand. */
function referenceHeads(kind: KindName): ReadonlySet<string> {
  let heads = headsByKind.get(kind);
  if (heads === undefined) {
    heads = new Set(kinds[kind].references.map(({ path }) => path.split('.')[0]!));
    headsByKind.set(kind, heads);
  }
  return heads;
}
