/** Reads the options of the gauntlet. */
import { parseArgs } from 'node:util';

export interface GauntletOptions {
  /** Null for a random one. */
  readonly seed: number | null;
  readonly minutes: number;
  /** Requests a second. */
  readonly rate: number;
  /** `mariadb` for an own server, or the address of another. */
  readonly database: string;
  /** Parts of names of the faults to inject; null for all. */
  readonly faults: readonly string[] | null;
  /** Report of an earlier run, whose plan is repeated; null for none. */
  readonly replay: string | null;
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
  --database WHAT   mariadb for an own server, or mysql://user:password@127.0.0.1:port of MySQL,
                    a node of Galera, or Vitess                                   [default: mariadb]
  --faults A,B      Only faults whose names contain one of these; none for no faults [default: all]
  --replay FILE     Repeat the faults and traffic of an earlier report
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
      The same faults and traffic again
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
      database: { type: 'string', default: 'mariadb' },
      faults: { type: 'string' },
      replay: { type: 'string' },
      report: { type: 'string' },
      logs: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const seed = values.seed === undefined ? null : numberOf('--seed', values.seed, 0, 2 ** 32 - 1);
  if (seed !== null && !Number.isInteger(seed)) throw new Error('--seed must be a whole number');
  if (values.database !== 'mariadb' && !URL.canParse(values.database)) {
    throw new Error(
      '--database must be mariadb or an address such as mysql://root:x@127.0.0.1:3306',
    );
  }
  return {
    seed,
    minutes: numberOf('--minutes', values.minutes, minutesLeast, minutesMost),
    rate: numberOf('--rate', values.rate, 1, 10_000),
    database: values.database,
    faults: values.faults?.split(',') ?? null,
    replay: values.replay ?? null,
    report: values.report ?? null,
    logs: values.logs ?? null,
  };
}

const [minutesLeast, minutesMost] = [0.25, 600];

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (number >= least && number <= most) return number;
  throw new Error(`${name} must be a number from ${least} to ${most}, not '${text}'`);
}
