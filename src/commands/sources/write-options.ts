/** Defines the options of commands that write to the server once, and their effect on a cycle. */
import type { CycleOptions } from '../../sync/cycle/cycle-options.ts';
import { type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { CommandIo } from '../shared/command.ts';
import { type OptionTable, switchOption, wholeNumberOption } from '../shared/option.ts';
import { holderName, type OpenedManifests } from './manifest-options.ts';
import { resourceNames } from './resource-names.ts';

/** Options that confirm held-back changes. */
export interface ReleaseOptions {
  readonly 'no-prune': boolean;
  readonly 'allow-deletes': number | undefined;
  readonly delete: readonly Identity[];
  readonly 'take-ownership': boolean;
}

export interface ApplyingOptions extends ReleaseOptions {
  readonly yes: boolean;
}

/** Help texts in which the commands differ. */
interface Sentences {
  readonly noPrune: string;
  readonly delete: string;
}

export function writeOptions(says: Sentences): OptionTable<ApplyingOptions> {
  return {
    yes: switchOption('Do not ask for confirmation; required without a terminal', 'y'),
    ...releaseOptions(says),
  };
}

export function releaseOptions(says: Sentences): OptionTable<ReleaseOptions> {
  return {
    'no-prune': switchOption(says.noPrune),
    'allow-deletes': wholeNumberOption(
      'COUNT',
      { min: 0, max: 1_000_000, example: 12 },
      {
        describe: 'Release a prune of up to this many resources',
        fallback: 'one, or a fifth of what the owner has',
      },
    ),
    delete: resourceNames(says.delete),
    'take-ownership': switchOption(
      'Take over resources that are unmanaged or belong to another owner',
    ),
  };
}

/** The cycle options that follow from the command line, the manifests and the command's name. */
export function writingCycle(
  name: string,
  given: ReleaseOptions,
  { read, scope, secretsFolder, openSinks }: OpenedManifests,
  io: CommandIo,
) {
  const named = new Set(given.delete.map(identityKey));
  return {
    readDesired: read,
    scope,
    secretsFolder,
    openSinks,
    act: true,
    prune: !given['no-prune'],
    allowDeletes: given['allow-deletes'] ?? null,
    isReleased: (id) => named.has(id),
    takeOwnership: given['take-ownership'],
    holder: holderName(name),
    onWait: (message) => io.stderr.write(`${message}\n`),
    signal: io.signal,
  } satisfies Partial<CycleOptions>;
}
