/** Runs the members of the benchmark and prints their ratios. Missed aims are reported, not enforced. */
import { member as admin } from './admin.ts';
import { member as chart } from './chart.ts';
import { member as cliStart } from './cli-start.ts';
import { member as consolePages } from './console.ts';
import { member as deploy } from './deploy.ts';
import { member as gateway } from './gateway.ts';
import { member as guardrails } from './guardrails.ts';
import type { MemberOptions } from './harness.ts';
import { member as hostileBodies } from './hostile-bodies.ts';
import { member as hostileConnections } from './hostile-connections.ts';
import { member as hostileInference } from './hostile-inference.ts';
import { member as jobs } from './jobs.ts';
import { member as largeResponses } from './large-responses.ts';
import { member as lists } from './lists.ts';
import { member as mcp } from './mcp.ts';
import { member as mcpChanges } from './mcp-changes.ts';
import { member as stateful } from './objects/stateful.ts';
import { member as propagation } from './propagation.ts';
import { member as realtime } from './realtime.ts';
import { member as scaleOut } from './scale.ts';
import { member as serve } from './serve.ts';
import { member as snapshot } from './snapshot.ts';
import { member as spool } from './spool.ts';
import { member as sync } from './sync.ts';
import { member as syncFirst } from './sync-first.ts';
import { member as syncIdle } from './sync-idle.ts';
import { member as unfinishedBodies } from './unfinished-bodies.ts';
import { member as validateMany } from './validate-10k.ts';

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
const hostile = [
  hostileBodies,
  hostileInference,
  unfinishedBodies,
  largeResponses,
  hostileConnections,
];
const all = [
  cliStart,
  deploy,
  validateMany,
  serve,
  lists,
  consolePages,
  admin,
  gateway,
  guardrails,
  mcp,
  mcpChanges,
  realtime,
  ...hostile,
  jobs,
  stateful,
  snapshot,
  spool,
  propagation,
  scaleOut,
  syncFirst,
  sync,
  syncIdle,
  chart,
];
const options = ['--scale=', '--stages=', '--builds=', '--node-options='];
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
  for (const { metric, ratio, aim, must, least, quartiles } of await run(scale, requested)) {
    const most = verdictOf('must', ratio, must ?? null) + verdictOf('aim', ratio, aim);
    const enough = least !== undefined && ratio >= least ? 'met' : 'missed';
    const verdict = least === undefined ? most : `  at least ${least} ${enough}`;
    const spread = quartiles?.map((quartile) => quartile.toFixed(2)).join(' to ');
    const range = spread === undefined ? '' : ` (${spread})`;
    process.stdout.write(`  ${metric.padEnd(52)} ${ratio.toFixed(2)}${range}${verdict}\n`);
  }
}

function verdictOf(word: string, ratio: number, most: number | null): string {
  if (most === null) return '';
  return `  ${word} ${Number(most.toFixed(3))} ${ratio <= most ? 'met' : 'missed'}`;
}
