/** Command line of the gauntlet. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { everyFault } from './faults/every-fault.ts';
import { runGauntlet } from './gauntlet.ts';
import { type GauntletOptions, help, readOptions } from './options.ts';
import { type FaultPlan, planFaults } from './plan/fault-plan.ts';
import { type GauntletReport, reportOf, tableOf, writeReport } from './report.ts';

const wrongOptions = 5;

async function main(options: GauntletOptions): Promise<number> {
  const { plan, rate } = termsOf(options);
  say(`gauntlet: seed ${plan.seed}, ${plan.faults.length} faults planned`);
  const result = await runGauntlet({
    plan,
    rate,
    database: options.database,
    logs: options.logs,
    tell: (line) => say(`${new Date().toISOString().slice(11, 23)} ${line}`),
  });
  const report = reportOf(result);
  if (options.report !== null) writeReport(options.report, report);
  say(tableOf(report));
  return report.invariants.every(({ violations }) => violations.length === 0) ? 0 : 1;
}

function termsOf(options: GauntletOptions): { readonly plan: FaultPlan; readonly rate: number } {
  if (options.replay !== null) {
    return JSON.parse(readFileSync(options.replay, 'utf8')) as GauntletReport;
  }
  const seed = options.seed ?? randomInt(2 ** 32);
  const kinds = everyFault.filter(
    ({ name }) => options.faults?.some((part) => name.includes(part)) ?? true,
  );
  return { plan: planFaults(seed, options.minutes, kinds), rate: options.rate };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function readWords(): GauntletOptions | 'help' | null {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`gauntlet: ${(error as Error).message}\n`);
    return null;
  }
}

const options = readWords();
if (options === 'help') say(help);
else process.exitCode = options === null ? wrongOptions : await main(options);
