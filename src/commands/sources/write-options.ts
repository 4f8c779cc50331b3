/** Knows the options of commands that write once because somebody said so, and what they mean for a cycle. */
import type { CycleOptions } from '../../sync/cycle/cycle-options.ts';
import { type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { CommandIo } from '../shared/command.ts';
import { flag, type OptionTable, wholeNumber } from '../shared/option.ts';
import { holderName, type OpenedManifests } from './manifest-options.ts';
import { resourceNames } from './resource-names.ts';

/** What is released, and what is left alone. */
export interface ReleaseOptions {
  readonly 'no-prune': boolean;
  readonly 'allow-deletes': number | undefined;
  readonly delete: readonly Identity[];
  readonly 'take-ownership': boolean;
}

export interface WriteOptions extends ReleaseOptions {
  readonly yes: boolean;
}

/** The sentences in which the commands differ. */
interface Sentences {
  readonly noPrune: string;
  readonly delete: string;
}

export function writeOptions(says: Sentences): OptionTable<WriteOptions> {
  return { yes: flag('Do not ask; needed where no terminal is', 'y'), ...releaseOptions(says) };
}

export function releaseOptions(says: Sentences): OptionTable<ReleaseOptions> {
  return {
    'no-prune': flag(says.noPrune),
    'allow-deletes': wholeNumber(
      'COUNT',
      { min: 0, max: 1_000_000, example: 12 },
      {
        describe: 'Release a prune of up to this many resources',
        fallback: 'one, or a fifth of what the owner has',
      },
    ),
    delete: resourceNames(says.delete),
    'take-ownership': flag('Take over what exists unmanaged or belongs to another owner'),
  };
}

/** What of a cycle that writes follows from the options, the manifests and the command's own name. */
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
