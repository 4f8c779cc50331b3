/**
 * Builds declared resources for tests of the pure planner, and an in-memory server that executes
 * requests.
 */

import { createHmac } from 'node:crypto';
import { type KindName, kindNames, kinds } from '../../../src/model/kinds/kinds.ts';
import type { Snapshot } from '../../../src/model/kinds/snapshot.ts';
import { loadSpecSchema } from '../../../src/model/kinds/spec-schemas.ts';
import { matchesPattern } from '../../../src/model/manifests/path-patterns.ts';
import { Secret } from '../../../src/secret.ts';
import {
  type ChangeContext,
  createChange,
  deleteChange,
  singleRequest,
  updateChange,
} from '../../../src/sync/apply/requests.ts';
import type { CommandLine } from '../../../src/sync/plan/guards.ts';
import { makePlan } from '../../../src/sync/plan/plan.ts';
import type { Plan, PlannedChange } from '../../../src/sync/plan/plan-model.ts';
import {
  type DesiredResource,
  type DesiredSet,
  type ExternalResource,
  type Identity,
  identityKey,
  type LiveSet,
  type Spec,
  type SpecJson,
} from '../../../src/sync/resources/resource-set.ts';
import { isPlainObject, mapSpec, referencesIn } from '../../../src/sync/resources/spec-paths.ts';
import { type SnapshotRead, toLiveSet, wholeSnapshot } from '../../../src/sync/server/live.ts';

export const owner = 'platform';
const bodies = new Map(
  await Promise.all(kindNames.map(async (name) => [name, await loadSpecSchema(name)] as const)),
);
const fingerprintKey = Buffer.alloc(32, 1);

export interface DeclaredResource
  extends Partial<Omit<DesiredResource, 'identity' | 'spec' | 'secrets'>> {
  readonly secrets?: Record<string, string>;
}

/** A declared resource as the input side builds it: its spec also contains workspace and name. */
export function want(
  kind: KindName,
  path: string,
  fields: Spec = {},
  { secrets = {}, ...options }: DeclaredResource = {},
): DesiredResource {
  const [first = '', second] = path.split('/');
  const identity: Identity = {
    kind,
    workspace: second === undefined ? null : first,
    name: second ?? first,
  };
  const { shape } = bodies.get(kind)!;
  const spec: Spec = {
    ...('name' in shape ? { name: identity.name } : {}),
    ...('workspace_id' in shape && second !== undefined
      ? { workspace_id: { $ref: `Workspace/${first}` } }
      : {}),
    ...fields,
  };
  const position = { file: `${kind}.yaml`, line: 1, column: 1 };
  const inside = second === undefined ? [] : [`Workspace/${first}`];
  const references = new Set([...referencesIn(spec), ...inside]);
  return {
    identity,
    position,
    positionOf: () => position,
    spec,
    secrets: new Map(
      Object.entries(secrets).map(([pointer, value]) => [pointer, new Secret(value, 'env:TEST')]),
    ),
    references: [...references].map(identityOf),
    absent: false,
    protected: false,
    previousNames: [],
    renamedBefore: [],
    onRemoval: 'delete',
    secretOutput: null,
    rotation: null,
    ...options,
  };
}

function identityOf(key: string): Identity {
  const [kind, first, second] = key.split('/');
  return second === undefined
    ? { kind: kind as KindName, workspace: null, name: first! }
    : { kind: kind as KindName, workspace: first!, name: second };
}

export function setOf(
  resources: readonly DesiredResource[],
  externals: readonly ExternalResource[] = [],
): DesiredSet {
  const leftAlone = {
    ignored: [],
    otherEnvironments: [],
    foreignFiles: [],
    foreignDocuments: [],
  };
  return { resources, externals, source: { repo: '/src', revision: null, digest: 'd' }, leftAlone };
}

type StoredResource = Snapshot['resources'][number];

/**
 * Stores request bodies in wire form and returns snapshots; its only rule is that references must
 * exist.
 */
export class ModelServer {
  resources: StoredResource[] = [];
  writes = 0;
  #ids = 0;

  live(as = owner, externals: readonly ExternalResource[] = []): LiveSet {
    return toLiveSet(this.read(), as, externals);
  }

  read(): SnapshotRead {
    const snapshot: Snapshot = {
      object: 'snapshot',
      organisation_id: 'o',
      fingerprint_key: fingerprintKey.toString('base64'),
      api_key_prefix: '',
      resources: structuredClone(this.resources).map((stored) => ({
        ...stored,
        spec: mapSpec(stored.spec, (value, segments) => {
          const { secrets } = kinds[stored.kind];
          const isHidden = secrets.some((pattern) => matchesPattern(pattern, segments));
          return isHidden && typeof value === 'string' ? hidden(value) : undefined;
        }),
      })),
    };
    return { query: wholeSnapshot(owner), snapshot, etag: `"${this.writes}"` };
  }

  plan(
    desired: DesiredSet,
    options: { as?: string; takeOwnership?: boolean; prune?: boolean } = {},
  ): Plan {
    const { as = owner, takeOwnership = false, prune = true } = options;
    const live = this.live(as, desired.externals);
    return makePlan(desired, live, { owner: as, takeOwnership, prune, now: 0 });
  }

  /** Executes a plan one request at a time; `afterEach` runs after every request. */
  apply(plan: Plan, afterEach: () => void = () => undefined): void {
    const targets = new Map<string, { id: string; slug: string | null }>(plan.live);
    const context: ChangeContext = {
      owner: plan.owner,
      source: plan.source,
      resolve: (key) => targets.get(key),
    };
    for (const change of plan.changes) {
      if (change.action === 'retain') continue;
      if (change.action === 'delete' || change.action === 'replace') {
        deleteChange(change.live!, context);
        this.remove(change.live!.id);
      }
      if (change.action === 'create' || change.action === 'replace') {
        const { body } = singleRequest(createChange(change.desired!, context));
        targets.set(change.id, this.#insert(change, body!, context));
      }
      if (change.action === 'update' || change.action === 'adopt') {
        const { body, ifMatch } = singleRequest(
          updateChange(change, context, bodies.get(change.desired!.identity.kind)!),
        );
        this.#update(change.live!.id, body!, ifMatch!);
      }
      this.writes += 1;
      afterEach();
    }
  }

  /** Adds a resource that no manifest declares. */
  seed(
    kind: KindName,
    name: string,
    spec: Spec,
    workspaceId: string | null = null,
  ): StoredResource {
    return this.#store(kind, name, { ...spec, name }, workspaceId, null);
  }

  find(key: string): StoredResource {
    const { kind, workspace, name } = identityOf(key);
    const found = this.resources.find(
      ({ kind: other, managed_by: managed }) =>
        other === kind && managed?.workspace === workspace && managed.name === name,
    );
    if (found === undefined) throw new Error(`no ${key}`);
    return found;
  }

  remove(id: string): void {
    this.resources = this.resources.filter((stored) => stored.id !== id);
  }

  /** Ids and slugs in references to resources that no longer exist. */
  dangling(): string[] {
    const known = new Set(this.resources.flatMap(({ id, slug }) => [id, slug]));
    return this.resources.flatMap(({ kind, spec, workspace_id: workspaceId }) => {
      const missing = workspaceId !== null && !known.has(workspaceId) ? [workspaceId] : [];
      mapSpec(spec, (value, segments) => {
        const isReference = kinds[kind].references.some(({ path }) =>
          matchesPattern(path, segments),
        );
        if (isReference && typeof value === 'string' && /^(id|slug)-/.test(value)) {
          if (!known.has(value)) missing.push(value);
        }
        return undefined;
      });
      return missing;
    });
  }

  #insert(
    change: PlannedChange,
    sent: Record<string, unknown>,
    context: ChangeContext,
  ): StoredResource {
    const { managed_by: managed, ...body } = structuredClone(sent) as Record<string, SpecJson>;
    const { kind, spec } = { kind: change.identity.kind, spec: change.desired!.spec };
    for (const field of kinds[kind].pathFields) {
      const value = spec[field]!;
      body[field] = isPlainObject(value) ? context.resolve(String(value.$ref))!.id : value;
    }
    const taken = this.resources.some(
      (stored) =>
        stored.managed_by !== null &&
        identityKey({ ...stored.managed_by, kind: stored.kind }) === change.id,
    );
    if (taken) throw new Error(`${change.id} is declared twice on the server`);
    const { workspace_id: workspaceId = null, ...rest } = body;
    const name = typeof body.name === 'string' ? body.name : null;
    return this.#store(
      kind,
      name,
      rest,
      workspaceId as string | null,
      managed as unknown as StoredResource['managed_by'],
    );
  }

  #store(
    kind: KindName,
    name: string | null,
    spec: Spec,
    workspaceId: string | null,
    managed: StoredResource['managed_by'],
  ): StoredResource {
    this.#ids += 1;
    const id = `id-${this.#ids}`;
    const slug = typeof spec.slug === 'string' ? spec.slug : `slug-${this.#ids}`;
    const stored: StoredResource = {
      kind,
      id,
      slug,
      name,
      version: 1,
      spec,
      workspace_id: workspaceId,
      managed_by: managed,
    };
    this.resources.push(stored);
    return stored;
  }

  #update(id: string, body: Record<string, unknown>, version: number): void {
    const stored = this.resources.find((other) => other.id === id)!;
    if (stored.version !== version) throw new Error('stale');
    const { managed_by: managed, ...fields } = structuredClone(body) as Record<string, SpecJson>;
    const spec = { ...stored.spec };
    for (const [field, value] of Object.entries(fields)) {
      const before = spec[field];
      const merges = kinds[stored.kind].merged.includes(field);
      const next =
        merges && isPlainObject(value) && isPlainObject(before) ? { ...before, ...value } : value;
      spec[field] = isPlainObject(next) && merges ? dropNulls(next) : next;
      if (spec[field] === null) delete spec[field];
    }
    stored.spec = spec;
    stored.name = typeof spec.name === 'string' ? spec.name : stored.name;
    stored.version += 1;
    stored.managed_by = managed as unknown as StoredResource['managed_by'];
  }
}

function hidden(value: string): Spec {
  const fingerprint = createHmac('sha256', fingerprintKey).update(value).digest('hex');
  return { $secret: 'server', fingerprint };
}

function dropNulls(object: { [key: string]: SpecJson }): { [key: string]: SpecJson } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Command lines for messages of the engine, for a program that was called with these words. */
export function commandOf(called: string): CommandLine {
  return (options) =>
    Object.entries(options).reduce(
      (line, [name, value]) => `${line} --${name}${value === true ? '' : ` ${value}`}`,
      called,
    );
}
