/** Reads the options of the gauntlet. */
import { parseArgs } from 'node:util';
import { engineNames } from './scene/engines.ts';

export interface GauntletOptions {
  /** Null for a random one. */
  readonly seed: number | null;
  readonly minutes: number;
  /** Requests a second. */
  readonly rate: number;
  /** Name of an engine, or the address of a server; null for that of the replayed report, or MariaDB. */
  readonly database: string | null;
  /** Parts of names of the faults to inject; null for all. */
  readonly faults: readonly string[] | null;
  /** Report of an earlier run, whose plan is repeated; null for none. */
  readonly replay: string | null;
  /** Whether the replay has only the faults around the violations. */
  readonly narrows: boolean;
  /** Whether the plan is printed and nothing is run. */
  readonly isPlanOnly: boolean;
  /** File for the report as JSON; null for none. */
  readonly report: string | null;
  /** Folder for the logs of all processes; null to delete them. */
  readonly logs: string | null;
}

export const help = `npm run gauntlet -- [options]

Runs three gateways, two control planes, a daemon, a database, a provider, an MCP server, a mail server
and a Git host as processes, sends mixed traffic, injects faults from a seed, and checks afterwards that
nothing was lost, charged twice, overspent, leaked or refused without a reason.

Options:
  --seed N          Seed of faults and traffic                                    [default: random]
  --minutes N       Length of the traffic; fractions are allowed                  [default: 10]
  --rate N          Requests a second, sent whether or not earlier ones are answered [default: 300]
  --database WHAT   mariadb, mysql, galera or vitess for an own server, or
                    mysql://user:password@127.0.0.1:port of another one           [default: mariadb]
  --faults A,B      Only faults whose names contain one of these; none for no faults [default: all]
  --replay FILE     Repeat the plan of an earlier report, or those of its faults that --faults names
  --narrow          With --replay: only the faults around the violations, in a run as short as possible
  --plan            Print the plan as JSON, and run nothing
  --report FILE     Write the report as JSON, from which --replay repeats it
  --logs FOLDER     Keep the logs of all processes there                     [default: deleted]
  --help            Show this help

Exit code 0 when every invariant held, 1 when one was violated, 5 for wrong options.

Examples:
  npm run gauntlet -- --minutes 1 --rate 60
      A short look on a small machine
  npm run gauntlet -- --seed 7 --report gauntlet.json
      Ten minutes, with everything needed to repeat them
  npm run gauntlet -- --replay gauntlet.json
      The same plan again
  npm run gauntlet -- --replay gauntlet.json --narrow
      Only what may explain the violations
  npm run gauntlet -- --minutes 2 --faults killed,disk
      Only kills and full disks
`;

/** @throws Error that names the wrong option */
export function readOptions(words: readonly string[]): GauntletOptions | 'help' {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '300' },
      database: { type: 'string' },
      faults: { type: 'string' },
      replay: { type: 'string' },
      narrow: { type: 'boolean', default: false },
      plan: { type: 'boolean', default: false },
      report: { type: 'string' },
      logs: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const seed = values.seed === undefined ? null : numberOf('--seed', values.seed, 0, 2 ** 32 - 1);
  if (seed !== null && !Number.isInteger(seed)) throw new Error('--seed must be a whole number');
  requireDatabase(values.database);
  if (values.narrow && values.replay === undefined) throw new Error('--narrow needs --replay');
  return {
    seed,
    minutes: numberOf('--minutes', values.minutes, minutesLeast, minutesMost),
    rate: numberOf('--rate', values.rate, 1, 10_000),
    database: values.database ?? null,
    faults: values.faults?.split(',') ?? null,
    replay: values.replay ?? null,
    narrows: values.narrow,
    isPlanOnly: values.plan,
    report: values.report ?? null,
    logs: values.logs ?? null,
  };
}

function requireDatabase(text: string | undefined): void {
  if (text === undefined || engineNames.includes(text) || URL.canParse(text)) return;
  const names = engineNames.join(', ');
  throw new Error(
    `--database must be one of ${names}, or an address such as mysql://root:x@127.0.0.1:3306`,
  );
}

const [minutesLeast, minutesMost] = [0.25, 600];

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (number >= least && number <= most) return number;
  throw new Error(`${name} must be a number from ${least} to ${most}, not '${text}'`);
}
