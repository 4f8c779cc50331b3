/** Reads the live state as one snapshot and converts it to the terms of the manifests. */
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { type KindName, kindNames, kinds, type ReferenceField } from '../../model/kinds/kinds.ts';
import { Snapshot, type SnapshotResource } from '../../model/kinds/snapshot.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import {
  type ExternalResource,
  identityKey,
  type LiveResource,
  type LiveSet,
  type Spec,
  type SpecJson,
} from '../resources/resource-set.ts';
import { mapSpec } from '../resources/spec-paths.ts';
import type { AdminClient } from './client.ts';
import { decodeBody } from './coded-body.ts';
import { identify } from './live-identities.ts';
import { withoutUnknown } from './newer-server.ts';
import type { SnapshotQuery } from './snapshot-cache.ts';

/** A snapshot read; passing it to the next read avoids the transfer while nothing has changed. */
export interface SnapshotRead {
  readonly query: SnapshotQuery;
  readonly snapshot: Snapshot;
  readonly etag: string;
  /**
   * Parts that a newer server reports and this version does not know; absent when there are none.
   */
  readonly unknown?: readonly string[] | undefined;
}

/** Queries all resources of the organisation. */
export function wholeSnapshot(owner: string): SnapshotQuery {
  const query = new URLSearchParams({ owner });
  return { view: 'whole', path: `/admin/v2/gatewright/snapshot?${query}` };
}

const namedMax = 50;
const namedCharactersMax = 4_000;

/**
 * Queries what one owner needs while nothing changes: everything except resources of other owners,
 * plus the targets of its Externals. Null when the query cannot express it: for a lookup by name,
 * which may be ambiguous, and for very many Externals.
 */
export function ownSnapshot(
  owner: string,
  externals: readonly ExternalResource[],
): SnapshotQuery | null {
  // Every view contains all workspaces.
  const named = externals.filter(({ identity }) => identity.kind !== 'Workspace');
  const text = named
    .map(({ lookup }) => lookup)
    .toSorted()
    .join();
  const isExpressible = externals.every(({ by, lookup }) => by !== 'name' && !lookup.includes(','));
  if (!isExpressible || named.length > namedMax || text.length > namedCharactersMax) return null;
  const words = { owner, view: 'own', ...(text === '' ? {} : { named: text }) };
  return { view: 'own', path: `/admin/v2/gatewright/snapshot?${new URLSearchParams(words)}` };
}

/**
 * Reads a snapshot in one request. The response is 304 if `previous`, or the snapshot cached by an
 * earlier run, is still valid.
 *
 * @throws Failure (unreachable) when the server is unreachable, refuses, or sends something else
 */
export async function readSnapshot(
  client: AdminClient,
  previous: SnapshotRead | null,
  signal?: AbortSignal,
  query: SnapshotQuery = wholeSnapshot(client.owner),
): Promise<SnapshotRead> {
  const known = previous?.query.path === query.path ? previous : null;
  const cache = client.snapshotCache(query);
  const cached = known === null ? ((await cache?.read()) ?? null) : null;
  const { status, etag, body, coded } = await ask(client, query, known ?? cached, signal);
  if (status === 304 && known !== null) return known;
  if (status === 304 && cached !== null) {
    const cachedBody: unknown = JSON.parse(await decodeBody(cached.body));
    // The cache is sealed and was validated by this version, so it need not be validated again.
    if (cached.isProven) return { query, snapshot: cachedBody as Snapshot, etag: cached.etag };
    return await parseSnapshot(query, cachedBody, cached.etag);
  }
  const read = await parseSnapshot(query, body, etag ?? '');
  if (etag !== null && coded !== null) {
    await cache?.keep({ etag, body: coded, isProven: isAsRead(body, read) });
  }
  return read;
}

/**
 * Returns whether the response contains every field that this version reads, so that no default was
 * filled in.
 */
function isAsRead(body: unknown, { snapshot, unknown = [] }: SnapshotRead): boolean {
  const { api_key_prefix: prefix, resources } = body as Partial<Snapshot>;
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
    const message = `the server does not return its state: ${reason}`;
    throw new Failure('unreachable', message, { cause: error });
  }
}

/** @throws Failure (unreachable) when the response is not a valid snapshot */
async function parseSnapshot(
  query: SnapshotQuery,
  response: unknown,
  etag: string,
): Promise<SnapshotRead> {
  const { body, unknown } = await withoutUnknown(response);
  const snapshot = schemaFor(body).safeParse(body);
  if (snapshot.success) return { query, snapshot: snapshot.data, etag, unknown };
  throw new Failure(
    'unreachable',
    'the server returned a snapshot that this version cannot read; is it a gatewright server of the same version?',
    { cause: snapshot.error },
  );
}

/** From this number of resources on, compiling the schema is faster than interpreting it. */
const manyResources = 2_000;
let compiled: typeof Snapshot | null = null;

function schemaFor(body: unknown): typeof Snapshot {
  const { resources } = (body ?? {}) as { resources?: unknown };
  if (!Array.isArray(resources) || resources.length < manyResources) return Snapshot;
  compiled ??= z.compile(Snapshot);
  return compiled;
}

/**
 * Converts a snapshot to the terms of the manifests. Targets of Externals get the External's name
 * and managed resources the name that their owner declared. Ids and slugs of known resources become
 * `$ref`.
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
    if (resource.slug !== null) bySlug.get(resource.kind)!.set(slugKey(resource), key);
  }
  const find: FindReferenced = (resource, { kind, by, prefix = '' }, value) => {
    if (!value.startsWith(prefix)) return undefined;
    const name = value.slice(prefix.length);
    const byId = byKind.get(kind)!.get(name);
    if (byId !== undefined || by !== 'slug') return byId;
    return bySlug.get(kind)!.get(slugKey({ ...resource, kind, slug: name }));
  };
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
        definitions: resource.definitions,
      } satisfies LiveResource;
    }),
  };
}

/** Slugs of providers are unique in their workspace, all others in the organisation. */
function slugKey(resource: Pick<SnapshotResource, 'kind' | 'slug' | 'workspace_id'>): string {
  const { kind, slug, workspace_id: workspace } = resource;
  return kind === 'Provider' ? `${workspace} ${slug}` : `${slug}`;
}

/** Returns the identity key of the resource that a field of another one names. */
type FindReferenced = (
  resource: SnapshotResource,
  field: ReferenceField,
  value: string,
) => string | undefined;

function withReferences(resource: SnapshotResource, find: FindReferenced): Spec {
  const { references } = kinds[resource.kind];
  const heads = referenceHeads(resource.kind);
  const spec: Spec =
    heads.has('workspace_id') && resource.workspace_id !== null
      ? { ...resource.spec, workspace_id: resource.workspace_id }
      : resource.spec;
  // Only fields that can contain references are searched.
  const holding = Object.entries(spec).filter(([field]) => heads.has(field));
  if (holding.length === 0) return spec;
  const named = mapSpec(Object.fromEntries(holding), (value, segments) => {
    if (typeof value !== 'string') return undefined;
    for (const field of references) {
      const key = matchesPattern(field.path, segments) ? find(resource, field, value) : undefined;
      if (key !== undefined) return { $ref: key } satisfies SpecJson;
    }
    return undefined;
  });
  return { ...spec, ...named };
}

const headsByKind = new Map<KindName, ReadonlySet<string>>();

/** Returns the top-level fields that can contain references. */
function referenceHeads(kind: KindName): ReadonlySet<string> {
  let heads = headsByKind.get(kind);
  if (heads === undefined) {
    heads = new Set(kinds[kind].references.map(({ path }) => path.split('.')[0]!));
    headsByKind.set(kind, heads);
  }
  return heads;
}
