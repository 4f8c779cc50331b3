/** Command line of the expiries: many keys that expire while processes with jobs are killed and stopped. */
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ExpiriesOptions, runExpiries } from './run-expiries.ts';

const wrongOptions = 5;
const usage =
  'npm run gauntlet:expiries -- [--keys 100000] [--runners 5] [--minutes 3] [--owner-faults 4] [--seed N]\n' +
  '    [--report FILE]';

function readOptions(): ExpiriesOptions & { readonly report: string | null } {
  const { values } = parseArgs({
    options: {
      keys: { type: 'string', default: '100000' },
      runners: { type: 'string', default: '5' },
      minutes: { type: 'string', default: '3' },
      'owner-faults': { type: 'string', default: '4' },
      seed: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const whole = (name: string, text: string, least: number): number => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= least) return number;
    throw new Error(`--${name} must be a whole number from ${least} on, not '${text}'`);
  };
  return {
    keys: whole('keys', values.keys, 1),
    runners: whole('runners', values.runners, 2),
    minutes: whole('minutes', values.minutes, 1),
    ownerFaults: whole('owner-faults', values['owner-faults'], 0),
    seed: values.seed === undefined ? randomInt(2 ** 32) : whole('seed', values.seed, 0),
    report: values.report ?? null,
  };
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`expiries: ${(error as Error).message}\nusage: ${usage}\n`);
    return wrongOptions;
  }
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const { violations, figures } = await runExpiries(options, (line) =>
    say(`${new Date().toISOString().slice(11, 23)} ${line}`),
  );
  if (options.report !== null) {
    writeFileSync(options.report, `${JSON.stringify({ options, figures, violations }, null, 2)}\n`);
  }
  for (const line of violations.slice(0, 20)) say(`violated: ${line}`);
  say(JSON.stringify({ ...figures, violations: violations.length, seed: options.seed }));
  say(violations.length === 0 ? '1 passed, 0 failed' : '0 passed, 1 failed');
  return violations.length === 0 ? 0 : 1;
}

process.exitCode = await main();
