/** Plans two versions of a source against one state of the server and compares them. */
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { readSettings } from '../../settings.ts';
import type { CycleOptions, CycleResult } from '../../sync/cycle/cycle-options.ts';
import type { Plan } from '../../sync/plan/plan-model.ts';
import type { Baseline } from '../../sync/report/baseline.ts';
import type { DesiredSet } from '../../sync/resources/resource-set.ts';
import { beyondBase } from '../../sync/review/beyond-base.ts';
import { gitLocationAt, isGitLocation } from '../../sync/source/git-location.ts';
import { folderAt } from '../../sync/source/git-working-tree.ts';
import { isStandardInput } from '../../sync/source/source.ts';
import type { CommandIo } from '../shared/command.ts';
import { locationsOf, type ManifestOptions, openManifests } from '../sources/manifest-options.ts';

/** Plans once; the argument contains what differs between the two plans. */
export type PlanOnce = (
  source: Pick<CycleOptions, 'readDesired' | 'previous' | 'acceptHistory'>,
) => Promise<CycleResult>;

/** Attempts before giving up on a server that keeps changing. */
const triesMax = 3;

/**
 * The changes of the manifests that those at `ref` do not make. If the version at `ref` cannot be
 * planned, it counts as empty and a warning is added.
 *
 * @throws Failure (invalid input) when the source has no such version; (retryable) when the server
 *   changes between both plans every time; also the errors of planning
 */
export async function planBeyond(
  options: ManifestOptions,
  ref: string,
  { planOnce, io }: { readonly planOnce: PlanOnce; readonly io: CommandIo },
): Promise<CycleResult & { readonly baseline: Baseline }> {
  const earlier = await openEarlier(options, ref, io);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { base, warning } = await planEarlier(earlier, ref, planOnce);
    const { read: readDesired } = openManifests(options, io);
    const head = await planOnce({ readDesired, previous: base?.read });
    if (base !== null && base.read.etag !== head.read.etag) continue;
    const { plan, baseline } = beyondBase(head.plan, base?.plan ?? null);
    const known = new Set(base?.warnings ?? []);
    const warnings = [...warning, ...head.warnings.filter((message) => !known.has(message))];
    const { commit } = earlier;
    const ending = head.refusal === null ? endingOf(plan) : head.ending;
    return { ...head, plan, warnings, ending, baseline: { ref, commit, ...baseline } };
  }
  throw new Failure('retryable', 'the server changes faster than two plans are made; try again');
}

function endingOf({ changes, blocked }: Plan): CycleResult['ending'] {
  if (blocked.length > 0) return 'refusedByGuard';
  return changes.some(({ action }) => action !== 'retain') ? 'changesPresent' : 'success';
}

interface Earlier {
  /** Null when none of the paths existed. */
  readonly read: (() => Promise<DesiredSet>) | null;
  readonly commit: string | null;
}

async function planEarlier(
  { read }: Earlier,
  ref: string,
  planOnce: PlanOnce,
): Promise<{ base: CycleResult | null; warning: readonly string[] }> {
  if (read === null) return { base: null, warning: [] };
  try {
    // The version applied last may be newer than this one.
    return { base: await planOnce({ readDesired: read, acceptHistory: true }), warning: [] };
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'invalidInput') throw error;
    const [reason = ''] = error.message.split('\n');
    const warning = `at ${ref} the manifests cannot be planned, so that everything counts as added: ${reason}`;
    return { base: null, warning: [warning] };
  }
}

async function openEarlier(options: ManifestOptions, ref: string, io: CommandIo): Promise<Earlier> {
  const { home: homeSetting, sync } = readSettings(undefined, { cwd: io.cwd });
  const home = resolve(io.cwd, options.home ?? homeSetting);
  const places: { location: string | null; commit: string }[] = [];
  for (const location of locationsOf(options)) {
    if (isStandardInput(location)) {
      throw new Failure(
        'invalidInput',
        '--base: standard input has no other version; name a folder',
      );
    }
    if (isGitLocation(location)) {
      const at = gitLocationAt(location, ref);
      const { revision } = await openManifests({ ...options, paths: [at] }, io).newest();
      places.push({ location: at, commit: revision ?? ref });
    } else {
      const given = { cacheDirectory: join(home, 'git'), access: sync.git, signal: io.signal };
      places.push(await folderAt(resolve(io.cwd, location), ref, given));
    }
  }
  const paths = places.flatMap(({ location }) => location ?? []);
  const read = paths.length === 0 ? null : openManifests({ ...options, paths }, io).readValidPart;
  return { read, commit: places[0]?.commit ?? null };
}
