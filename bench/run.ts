/** Runs the members of the benchmark and prints their ratios. Missed aims are reported, not enforced. */
import { resolve } from 'node:path';
import type { MemberOptions, Row } from './harness.ts';
import { members as all } from './members.ts';
import { describeMachine, writeResult } from './publish/result-files.ts';

const words = process.argv.slice(2);
const optionOf = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
const scale = Number(optionOf('scale') ?? 1);
if (!(scale > 0 && scale <= 1)) throw new Error('--scale= takes a share, more than 0 and up to 1');
const requested: MemberOptions = {
  stages: optionOf('stages')?.split(',') ?? null,
  builds: optionOf('builds')?.split(',') ?? [],
  nodeOptions: optionOf('node-options') ?? '',
};
const wanted = words.filter((word) => !word.startsWith('--'));
const options = ['--scale=', '--stages=', '--builds=', '--node-options=', '--json='];
const resultFolder = optionOf('json');
const unknown = words.find(
  (word) => word.startsWith('--') && !options.some((option) => word.startsWith(option)),
);
const members = all.filter(
  ({ name }) =>
    wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word.toLowerCase())),
);
if (unknown !== undefined || members.length === 0) {
  process.stderr.write(
    `npm run bench -- [${options.join('…] [')}…] [words of a name …]\n\n` +
      `${all.map(({ name }) => `  ${name}`).join('\n')}\n`,
  );
  process.exit(unknown === '--help' ? 0 : 5);
}

for (const { name, run } of members) {
  process.stdout.write(`\n${name}\n`);
  const machine = describeMachine();
  const rows = await run(scale, requested);
  for (const row of rows) print(row);
  if (resultFolder === undefined) continue;
  const { stages } = requested;
  const path = writeResult(resolve(resultFolder), { member: name, scale, stages, machine, rows });
  process.stdout.write(`  result in ${path}\n`);
}

function print({ metric, ratio, aim, must, least, quartiles }: Row): void {
  const most = verdictOf('must', ratio, must ?? null) + verdictOf('aim', ratio, aim);
  const enough = least !== undefined && ratio >= least ? 'met' : 'missed';
  const verdict = least === undefined ? most : `  at least ${least} ${enough}`;
  const spread = quartiles?.map((quartile) => quartile.toFixed(2)).join(' to ');
  const range = spread === undefined ? '' : ` (${spread})`;
  process.stdout.write(`  ${metric.padEnd(52)} ${ratio.toFixed(2)}${range}${verdict}\n`);
}

function verdictOf(word: string, ratio: number, most: number | null): string {
  if (most === null) return '';
  return `  ${word} ${Number(most.toFixed(3))} ${ratio <= most ? 'met' : 'missed'}`;
}
