/** Adopts single resources for an owner without a source, and releases them. */
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { loadSpecSchema } from '../../model/kinds/spec-schemas.ts';
import type { ManagedBy } from '../../model/manifests/managed-by.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import { acquireLease, type HeldLease, type LeaseOptions } from '../apply/owner-lease.ts';
import { singleRequest, updateChange } from '../apply/requests.ts';
import { recordRun } from '../apply/revision.ts';
import { changeOf } from '../plan/draft-change.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import { suspensionFinder } from '../plan/suspended.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
} from '../resources/resource-set.ts';
import type { AdminClient } from '../server/client.ts';
import { readSnapshot, toLiveSet } from '../server/live.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { readStanding } from '../server/sync-records.ts';

export interface HandOverOptions extends LeaseOptions {
  readonly client: AdminClient;
  /** Without duplicates. */
  readonly identities: readonly Identity[];
  /** Also hand over suspended resources. */
  readonly evenIfSuspended: boolean;
  /** The command that does so, for the refusal message. */
  readonly evenIfSuspendedCommand: string;
  /** Called with problems that do not change the outcome of the run. */
  readonly onWarning: (message: string) => void;
}

export interface HandOverOutcome {
  /** Identity key. */
  readonly id: string;
  readonly resourceId: string;
  /** False if it was so already. */
  readonly changed: boolean;
}

type Verb = 'adopt' | 'release';

/**
 * Recorded as the source of an adopted resource until a manifest declares it; it is never pruned.
 */
const source: ManagedBy['source'] = {
  repo: 'gatewright adopt',
  revision: null,
  on_removal: 'retain',
};
const releasesMax = 200;

/**
 * Adopts resources under these identities without changing them. They stay as they are until a
 * manifest declares them (docs/explanation/sync.md, Single resources).
 *
 * @throws Failure (invalid input) that lists every missing resource, before any write; (refused by
 *   guard) when the server refuses one, after those before it were adopted; as {@link acquireLease}
 */
export async function adoptResources(options: HandOverOptions): Promise<HandOverOutcome[]> {
  await using lease = await acquireLease(options.client, options);
  const { client, identities, takeOver } = options;
  const resources = await readLive(options);
  const found = chooseResources(identities, (identity) =>
    findAdoptable(identity, resources, client.owner, takeOver),
  );
  await using run = await openRun('adopt', options, lease, found);
  const done: HandOverOutcome[] = [];
  for (const [identity, live] of found) {
    const changed = live.owner !== client.owner;
    if (changed) {
      await claim(options, lease, identity, { live, resources });
      run.changed.push([identity, live]);
    }
    done.push({ id: identityKey(identity), resourceId: live.id, changed });
  }
  run.isWhole = true;
  return done;
}

/**
 * Releases resources, all or none. They stay as they are, unmanaged.
 *
 * @throws Failure as {@link adoptResources}
 */
export async function releaseResources(options: HandOverOptions): Promise<HandOverOutcome[]> {
  const { client, identities } = options;
  if (identities.length > releasesMax) {
    throw new Failure('invalidInput', `at most ${releasesMax} resources are released at once`);
  }
  await using lease = await acquireLease(client, options);
  const resources = await readLive(options);
  const found = chooseResources(identities, (identity) => {
    const key = identityKey(identity);
    const own = resources.find(
      (one) => one.owner === client.owner && identityKey(one.identity) === key,
    );
    return own ?? `${key} is not owned by "${client.owner}"`;
  });
  await using run = await openRun('release', options, lease, found);
  const { body } = await withRefusal(
    client.request({
      method: 'POST',
      path: '/admin/v2/gatewright/sync/releases',
      body: { resources: found.map(([{ kind }, { id }]) => ({ kind, id })) },
      fence: lease.fence,
      signal: options.signal,
    }),
  );
  const { data } = body as { data: { id: string; released: boolean }[] };
  const released = new Map(data.map((one) => [one.id, one.released]));
  run.isWhole = true;
  run.changed.push(...found.filter(([, { id }]) => released.get(id) === true));
  return found.map(([identity, { id }]) => ({
    id: identityKey(identity),
    resourceId: id,
    changed: released.get(id) === true,
  }));
}

type ChosenResources = readonly (readonly [Identity, LiveResource])[];

/** Records in the owner's history what was changed, also when the run fails. */
interface HandOverRun extends AsyncDisposable {
  readonly changed: (readonly [Identity, LiveResource])[];
  /** Whether the run completed. */
  isWhole: boolean;
}

/** @throws Failure (refused by guard) when a resource is suspended; nothing was written */
async function openRun(
  verb: Verb,
  options: HandOverOptions,
  lease: HeldLease,
  found: ChosenResources,
): Promise<HandOverRun> {
  const { client, signal, onWarning } = options;
  const standing = await withRefusal(readStanding(client, signal));
  const find = suspensionFinder(options.evenIfSuspended ? [] : standing.suspensions);
  const paused = found.flatMap(([identity, live]) => {
    const message = find({ identity, live });
    return message === null ? [] : [`${identityKey(identity)}: ${message}`];
  });
  if (paused.length > 0) {
    const lines = [...paused, `If it is meant: ${options.evenIfSuspendedCommand}`];
    throw new Failure('refusedByGuard', lines.join('\n'));
  }
  const started_at = formatTimestamp(systemClock.now());
  const run: Pick<HandOverRun, 'changed' | 'isWhole'> = { changed: [], isWhole: false };
  const { changed } = run;
  return Object.assign(run, {
    [Symbol.asyncDispose]: async () => {
      if (changed.length === 0) return;
      // Resources that are handed over come from no source, so the recorded source stays.
      const { commit = 'none', source: from = `gatewright ${verb}` } = standing.revision ?? {};
      const unrecorded = await recordRun(client, lease, {
        commit,
        source: from,
        started_at,
        finished_at: formatTimestamp(systemClock.now()),
        ending: run.isWhole ? 'success' : 'partialFailure',
        changes: changed.map(([{ kind, workspace, name }, { id }]) => ({
          action: verb,
          kind,
          workspace,
          name,
          resource_id: id,
          fields: [],
        })),
      });
      for (const message of unrecorded) onWarning(message);
    },
  });
}

async function readLive({ client, signal }: HandOverOptions): Promise<readonly LiveResource[]> {
  return toLiveSet(await readSnapshot(client, null, signal), client.owner, []).resources;
}

/**
 * @throws Failure (invalid input) that lists the message of each identity for which `find` returns
 *   one
 */
function chooseResources(
  identities: readonly Identity[],
  find: (identity: Identity) => LiveResource | string,
): (readonly [Identity, LiveResource])[] {
  const found = identities.map((identity) => [identity, find(identity)] as const);
  const wrong = found.flatMap(([, live]) => (typeof live === 'string' ? [live] : []));
  if (wrong.length > 0) throw new Failure('invalidInput', wrong.join('\n'));
  return found.map(([identity, live]) => [identity, live as LiveResource] as const);
}

/** Returns the live resource of an identity, or why it cannot be adopted. */
function findAdoptable(
  identity: Identity,
  resources: readonly LiveResource[],
  owner: string,
  takeOver: boolean,
): LiveResource | string {
  const key = identityKey(identity);
  const [live, ...more] = resources.filter((one) => matchesIdentity(identity, one, resources));
  if (live === undefined) return `${key}: no such resource on the server, by name or slug`;
  if (more.length > 0) {
    const ids = [live, ...more].map(({ id }) => id).join(', ');
    return `${key}: several resources of that name are on the server (ids ${ids}); rename all but one`;
  }
  if (live.isOfDeployment) return `${key}: what bootstrap creates belongs to the deployment`;
  if (live.owner === null || live.owner === owner || takeOver) return live;
  return `${key} belongs to owner "${live.owner}"; take it over with --take-ownership`;
}

function matchesIdentity(
  identity: Identity,
  live: LiveResource,
  all: readonly LiveResource[],
): boolean {
  if (identity.kind !== live.identity.kind) return false;
  if (live.owner !== null) return identityKey(identity) === identityKey(live.identity);
  const within = all.find(
    (one) => one.identity.kind === 'Workspace' && one.identity.name === live.identity.workspace,
  );
  const places = [live.identity.workspace, within?.slug ?? null, within?.title ?? null];
  const names = [live.identity.name, live.slug, live.title];
  return (
    (identity.workspace === null
      ? live.identity.workspace === null
      : places.includes(identity.workspace)) && names.includes(identity.name)
  );
}

/** Sends only the claim; no field of the resource is written. */
async function claim(
  { client, signal }: HandOverOptions,
  { fence }: { readonly fence: number },
  identity: Identity,
  { live, resources }: { readonly live: LiveResource; readonly resources: readonly LiveResource[] },
): Promise<void> {
  const position = { file: '', line: 1, column: 1 };
  const desired: DesiredResource = {
    identity,
    position,
    positionOf: () => position,
    spec: live.spec,
    secrets: new Map(),
    references: [],
    absent: false,
    protected: false,
    previousNames: [],
    renamedBefore: [],
    onRemoval: 'retain',
    secretOutput: null,
    rotation: null,
  };
  const draft = changeOf({ action: 'adopt', desired, live, fields: [] });
  const change: PlannedChange = { ...draft, dependsOn: [], last: false };
  const byKey = new Map(resources.map((one) => [identityKey(one.identity), one]));
  const context = {
    owner: client.owner,
    source: { ...source, digest: '' },
    resolve: (key: string) => byKey.get(key),
  };
  const request = singleRequest(updateChange(change, context, await loadSpecSchema(identity.kind)));
  const managed = request.body?.managed_by as Record<string, unknown>;
  // Nothing has been applied yet, so fields that no manifest declares stay unmanaged.
  const body = { ...request.body, managed_by: { ...managed, source, last_applied: {} } };
  await withRefusal(client.request({ ...request, body, fence, signal }));
}

/** @throws Failure (refused by guard) with the message of the server */
async function withRefusal<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const message = `the server refuses it (${error.status}): ${error.message}`;
    throw new Failure('refusedByGuard', message, { cause: error });
  }
}
