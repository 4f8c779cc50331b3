/** Configures a cycle that applies exactly the changes of a saved plan. */
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
import { type ApplyingOptions, writingCycle } from '../sources/write-options.ts';

export interface ApplyPlanOptions extends ManifestOptions, ApplyingOptions {
  readonly 'even-if-suspended': boolean;
  readonly 'accept-history': boolean;
}

/** Options that are part of a plan and are set when it is created. */
const planOptionNames = [
  'env',
  'workspace',
  'no-prune',
  'allow-deletes',
  'delete',
  'take-ownership',
  'even-if-suspended',
  'accept-history',
] as const satisfies readonly (keyof ApplyPlanOptions)[];

/**
 * The cycle options for a saved plan. Its source is read again at the commit of the plan, because the
 * file contains no secret values.
 *
 * @throws Failure (invalid input) for a plan for other credentials, or a damaged one; (stale) for an
 *   expired one
 */
export async function savedCycle(
  saved: SavedPlan,
  options: ApplyPlanOptions,
  client: AdminClient,
  io: CommandIo,
): Promise<Omit<CycleOptions, 'client'>> {
  const [name = ''] = options.paths;
  rejectPlanOptions(options, name);
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
  const manifests = await openPlannedSource(saved, given, io);
  return {
    ...writingCycle('apply', given, manifests, io),
    previous: read,
    command,
    descent: manifests.descent,
    evenIfSuspended: terms.evenIfSuspended,
    acceptHistory: terms.acceptHistory,
    readDesired: async () => withPlannedOrigin(await manifests.read(), saved, here),
    // Changes that became due after the plan was created belong to another plan.
    clock: { now: () => Date.parse(madeAt) },
    assertExpected: (plan, now) => assertUnchanged(saved, { plan, read: now }, here),
  };
}

function rejectPlanOptions(options: ApplyPlanOptions, name: string): void {
  const isGiven = (value: unknown): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  const part = planOptionNames.find((option) => isGiven(options[option]));
  if (part === undefined) return;
  const message = `${name} is a saved plan, which already contains --${part}: pass it to plan --out, or remove it`;
  throw new Failure('invalidInput', message);
}

/** Opens the manifests of the plan, at its commit when the branch has moved on. */
async function openPlannedSource(
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

/** Checks that the source is unchanged, and gives it the origin recorded in the plan. */
function withPlannedOrigin(
  set: DesiredSet,
  { source: then }: SavedPlan,
  here: Circumstances,
): DesiredSet {
  const { source } = set;
  if (source.digest === then.digest) return { ...set, source: { ...source, repo: then.repo } };
  const words = [then, { revision: source.revision, digest: source.digest }].map((one) =>
    commitOf({ revision: 'sha' in one ? one.sha : one.revision, digest: one.digest }),
  );
  const changed = [`the manifests have changed (${words[0]} then, ${words[1]} now)`];
  throw staleFailure(here.name, changed, here.planAgain());
}
