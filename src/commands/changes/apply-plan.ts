/** Knows what a saved plan means for the cycle that carries it out: its own terms, and nothing but its changes. */
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { CycleOptions } from '../../sync/cycle/cycle-options.ts';
import { commitOf, type DesiredSet } from '../../sync/resources/resource-set.ts';
import {
  assertApplicable,
  assertGenuine,
  assertUnchanged,
  type Circumstances,
  type SavedPlan,
  staleFailure,
} from '../../sync/review/saved-plan.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { readSnapshot } from '../../sync/server/live.ts';
import { gitLocationAt, isGitLocation } from '../../sync/source/git-location.ts';
import type { CommandIo } from '../shared/command.ts';
import {
  type ManifestOptions,
  type OpenedManifests,
  openManifests,
  planCommand,
} from '../sources/manifest-options.ts';
import { namedResources } from '../sources/resource-names.ts';
import { type WriteOptions, writingCycle } from '../sources/write-options.ts';

export interface GivenOptions extends ManifestOptions, WriteOptions {
  readonly 'even-if-suspended': boolean;
  readonly 'accept-history': boolean;
}

/** Said when a plan is made, and part of it. */
const partsOfPlan = [
  'env',
  'workspace',
  'no-prune',
  'allow-deletes',
  'delete',
  'take-ownership',
  'even-if-suspended',
  'accept-history',
] as const satisfies readonly (keyof GivenOptions)[];

/**
 * How the changes of a saved plan are carried out, and no others. Its source is read again, because
 * values of secrets are in no file, at the commit that it was made of.
 *
 * @throws Failure (invalid input) for a plan that is not for these credentials, or not whole; (stale) for one
 *   that has expired
 */
export async function savedCycle(
  saved: SavedPlan,
  options: GivenOptions,
  client: AdminClient,
  io: CommandIo,
): Promise<Omit<CycleOptions, 'client'>> {
  const [name = ''] = options.paths;
  refuseParts(options, name);
  const { terms, madeAt } = saved.saved;
  const given = {
    ...options,
    paths: terms.paths,
    workspace: terms.workspace,
    delete: namedResources(terms.delete),
    env: terms.environment ?? undefined,
    'no-prune': terms.noPrune,
    'allow-deletes': terms.allowDeletes ?? undefined,
    'take-ownership': terms.takeOwnership,
    'even-if-suspended': terms.evenIfSuspended,
    'accept-history': terms.acceptHistory,
  };
  const command = planCommand(given, name, io.cwd);
  const here: Circumstances = {
    owner: client.owner,
    server: client.address,
    now: systemClock.now(),
    name,
    planAgain: () => command({}),
  };
  assertApplicable(saved, here);
  const read = await readSnapshot(client, null, io.signal);
  assertGenuine(saved, read, name);
  const manifests = await openPlanned(saved, given, io);
  return {
    ...writingCycle('apply', given, manifests, io),
    previous: read,
    command,
    descent: manifests.descent,
    evenIfSuspended: terms.evenIfSuspended,
    acceptHistory: terms.acceptHistory,
    readDesired: async () => sameSource(await manifests.read(), saved, here),
    // What has become due since then is for another plan.
    clock: { now: () => Date.parse(madeAt) },
    assertExpected: (plan, now) => assertUnchanged(saved, { plan, read: now }, here),
  };
}

function refuseParts(options: GivenOptions, name: string): void {
  const isGiven = (value: unknown): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  const part = partsOfPlan.find((option) => isGiven(options[option]));
  if (part === undefined) return;
  const message = `${name} is a saved plan, of which --${part} is a part: give it to plan --out, or leave it out`;
  throw new Failure('invalidInput', message);
}

/** The manifests as they are named; of a ref that has moved on, the commit of the plan. */
async function openPlanned(
  { source: { sha } }: SavedPlan,
  given: ManifestOptions,
  io: CommandIo,
): Promise<OpenedManifests> {
  const manifests = openManifests(given, io);
  const [location = ''] = given.paths;
  if (sha === null || given.paths.length > 1 || !isGitLocation(location)) return manifests;
  if ((await manifests.newest()).revision === sha) return manifests;
  return openManifests({ ...given, paths: [gitLocationAt(location, sha)] }, io);
}

/** The set as it was planned; what is written of its origin is what the plan says. */
function sameSource(set: DesiredSet, { source: then }: SavedPlan, here: Circumstances): DesiredSet {
  const { source } = set;
  if (source.digest === then.digest) return { ...set, source: { ...source, repo: then.repo } };
  const words = [then, { revision: source.revision, digest: source.digest }].map((one) =>
    commitOf({ revision: 'sha' in one ? one.sha : one.revision, digest: one.digest }),
  );
  const changed = [`the manifests have changed (${words[0]} then, ${words[1]} now)`];
  throw staleFailure(here.name, changed, here.planAgain());
}
