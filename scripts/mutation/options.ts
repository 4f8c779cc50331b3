/** Reads the options of `npm run mutation`. */
import { parseArgs } from 'node:util';
import { roomNames, scoreMin, testFoldersOf } from './rooms.ts';

export interface MutationOptions {
  /** Rooms, files and folders, or the lines that differ from a base. */
  readonly scope:
    | { readonly kind: 'rooms'; readonly rooms: readonly string[] }
    | { readonly kind: 'paths'; readonly paths: readonly string[] }
    | { readonly kind: 'changed'; readonly base: string | null };
  /** Number of mutants to draw of each room, or of all paths or changed lines. */
  readonly sample: number;
  readonly seed: number;
  /** Time for each room, or for all paths or changed lines. */
  readonly seconds: number;
  /** Whether the last draw is kept, and results of mutants that tests noticed with it. */
  readonly again: boolean;
  /** Whether few test files run for each source file. */
  readonly quick: boolean;
  /** Percentage of mutants that tests must notice. */
  readonly scoreMin: number;
}

export const help = `npm run mutation -- [--room ROOM… | PATH… | --changed [BASE]] [options]

Changes the code in small ways and reports the changes that no test notices. Fails when less than 85 % are
noticed (--min), or when a reason in scripts/mutation/survivors.json belongs to no mutant.

What is changed:
  --room ROOM       ${roomNames.join(', ')}; may be repeated [default: all]
  PATH              Files or folders of these rooms
  --changed [BASE]  Lines that differ from the commit BASE [default: where the branch left main; on main
                    itself, the last commit that is a day older than the newest]

Options:
  --sample N        Mutants to draw at random [default: 100 of each room or path, 24 of changed lines]
  --seed N          Seed of the draw; a larger sample of the same seed contains a smaller one [default: 1]
  --min N           Percentage that must be noticed [default: ${scoreMin}]
  --seconds N       Time after which no further mutant starts, with the run without changes
                    [default: 3600, 75 for changed lines]
  --again           Repeat the last draw of the room, and add to it up to the sample; what tests noticed
                    then is not run again
  --quick           Run at most 8 test files for each source file, 2 of them with a database: sooner, and
                    a lower score, because the other tests may notice more

Exit code 0 when enough was noticed, 1 when not, 5 for wrong options.

Examples:
  npm run mutation -- --room ledger --sample 200 --seed 7
      The score of one room with its 95 % interval, and the survivors
  npm run mutation -- src/sync/plan/order.ts
      A file, after writing tests for it
  npm run mutation -- --changed HEAD~3
      The lines of the last three commits
`;

/** @throws Error that names the wrong option */
export function readOptions(words: readonly string[]): MutationOptions | 'help' {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      room: { type: 'string', multiple: true },
      changed: { type: 'boolean', default: false },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string' },
      again: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      min: { type: 'string', default: String(scoreMin) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const scope = readScope(values.room, values.changed, positionals);
  if (values.again && scope.kind !== 'rooms') throw new Error('--again needs rooms');
  const isChanged = scope.kind === 'changed';
  return {
    scope,
    sample: readCount('--sample', values.sample ?? (isChanged ? '24' : '100')),
    seed: readCount('--seed', values.seed),
    seconds: readCount('--seconds', values.seconds ?? (isChanged ? '75' : '3600')),
    again: values.again,
    quick: values.quick,
    scoreMin: readCount('--min', values.min),
  };
}

function readScope(
  rooms: readonly string[] | undefined,
  isChanged: boolean,
  words: readonly string[],
): MutationOptions['scope'] {
  if (isChanged) {
    if (rooms !== undefined) throw new Error('--changed and --room exclude each other');
    if (words.length > 1) throw new Error('--changed takes one commit');
    return { kind: 'changed', base: words[0] ?? null };
  }
  if (words.length > 0) {
    if (rooms !== undefined) throw new Error('--room and paths exclude each other');
    return { kind: 'paths', paths: words };
  }
  for (const room of rooms ?? []) testFoldersOf(room);
  return { kind: 'rooms', rooms: rooms ?? roomNames };
}

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new Error(`${name} must be a whole number of at least 1, not ${text}`);
  }
  return count;
}
