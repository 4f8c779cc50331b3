/** Command line of the gauntlet. */
import { randomInt } from 'node:crypto';
import { everyFault } from './faults/every-fault.ts';
import { runGauntlet } from './gauntlet.ts';
import { type GauntletOptions, help, readOptions } from './options.ts';
import { planFaults } from './plan/fault-plan.ts';
import { type Replay, readReplay } from './plan/replay.ts';
import { reportOf, tableOf, writeReport } from './report.ts';
import { EngineMissing } from './scene/engines.ts';

const wrongOptions = 5;

async function main(words: readonly string[]): Promise<number> {
  let options: GauntletOptions | 'help';
  let terms: Replay;
  try {
    options = readOptions(words);
    if (options === 'help') {
      say(help);
      return 0;
    }
    terms = termsOf(options);
  } catch (error) {
    process.stderr.write(`gauntlet: ${(error as Error).message}\n`);
    return wrongOptions;
  }
  if (options.isPlanOnly) {
    say(JSON.stringify(terms.plan, null, 2));
    return 0;
  }
  try {
    return await run(options, terms);
  } catch (error) {
    if (!(error instanceof EngineMissing)) throw error;
    process.stderr.write(`gauntlet: ${error.message}\n`);
    return wrongOptions;
  }
}

async function run(options: GauntletOptions, terms: Replay): Promise<number> {
  const { plan, rate } = terms;
  say(`gauntlet: seed ${plan.seed}, ${plan.faults.length} faults planned`);
  const result = await runGauntlet({
    ...terms,
    logs: options.logs,
    tell: (line) => say(`${new Date().toISOString().slice(11, 23)} ${line}`),
  });
  const report = reportOf(result);
  if (options.report !== null) writeReport(options.report, report);
  const seeded = `--seed ${plan.seed} --minutes ${plan.minutes} --rate ${rate}`;
  const repeated = options.report === null ? seeded : `--replay ${options.report}`;
  say(tableOf(report, `npm run gauntlet -- ${repeated} --database ${report.database}`));
  return report.invariants.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

function termsOf(options: GauntletOptions): Replay {
  const { replay, database, faults, minutes, rate } = options;
  if (replay !== null) {
    const repeated = readReplay(replay, options);
    return { ...repeated, database: database ?? repeated.database };
  }
  const seed = options.seed ?? randomInt(2 ** 32);
  const kinds = everyFault.filter(
    ({ name }) => faults?.some((part) => name.includes(part)) ?? true,
  );
  return { plan: planFaults(seed, minutes, kinds), rate, database: database ?? 'mariadb' };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main(process.argv.slice(2));
