/** Measures a first apply: requests and memory for 10,000 resources, and 1,000 keys against a bare client. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startFaultyProxy } from '../test/support/network/faulty-proxy.ts';
import { writeDocuments } from './documents.ts';
import { interleave, type Member, type Row, ratioRows, type Target } from './harness.ts';
import { makeTenant, peakResidentMiB } from './product.ts';
import { withSyncSetup, writeCredentials } from './sync-setup.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');
const bareClient = resolve(import.meta.dirname, 'sync-bare-client.ts');
const resources = 10_000;
const keys = 1_000;
const rounds = 3;
const targets = ['apply', 'bare', 'flushed'] as const;
const sampleMs = 50;
const requestsMax = 30;
const mibMax = 300;
const bareMax = 1.5;

export const member: Member = {
  name: 'sync: a first apply',
  run: async (scale) =>
    withSyncSetup(async ({ folder, env, server, tenant }) => {
      await using proxy = await startFaultyProxy(server.url, () => 'pass');
      writeCredentials(join(folder, 'counted.json'), proxy.url, tenant);
      for (const target of targets) {
        for (let at = 0; at <= rounds; at += 1) {
          writeCredentials(join(folder, `${target}-${at}.json`), server.url, await makeTenant(env));
        }
      }
      return [
        ...keyRows(folder, Math.ceil(keys * scale)),
        ...(await wholeRows(folder, Math.ceil(resources * scale), () => proxy.seen)),
      ];
    }),
};

async function wholeRows(folder: string, count: number, seen: () => number): Promise<Row[]> {
  writeDocuments(join(folder, 'whole'), count);
  const words = ['apply', join(folder, 'whole'), '--yes', '--owner', 'whole'];
  const places = ['--credentials', join(folder, 'counted.json'), '--home', join(folder, 'home')];
  const child = spawn(process.execPath, [main, ...words, ...places], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let mib = 0;
  const sampling = setInterval(() => {
    mib = Math.max(mib, peakResidentMiB(child.pid!));
  }, sampleMs);
  const [code] = await once(child, 'exit');
  clearInterval(sampling);
  if (code !== 0) throw new Error(`apply exited with ${code}`);
  return [
    { metric: 'requests of a first apply of 10,000', ratio: seen(), aim: requestsMax },
    { metric: 'largest resident size of a first apply, MiB', ratio: mib, aim: mibMax },
  ];
}

/** Every run creates keys in its own tenant, because an apply also reads the tenant's existing keys. */
function keyRows(folder: string, count: number): Row[] {
  for (let at = 0; at <= rounds; at += 1) writeKeys(join(folder, `keys-${at}`), at, count);
  const next = (name: (typeof targets)[number], line: string): Target => {
    const counter = join(folder, `${name}.count`);
    writeFileSync(counter, '0');
    const script = `n=$(cat '${counter}'); echo $((n+1)) > '${counter}'; exec '${process.execPath}' ${line}`;
    return { name, command: '/bin/sh', args: ['-c', script] };
  };
  const apply = `'${main}' apply '${folder}/keys-'$n --yes --home '${folder}/home-'$n`;
  const bare = (name: string): string =>
    `'${bareClient}' '${folder}/${name}-'$n.json '${folder}/${name}-'$n bare-$n- ${count}`;
  const result = interleave(
    [
      next('apply', `${apply} --owner keys --credentials '${folder}/apply-'$n.json`),
      next('bare', bare('bare')),
      next('flushed', `${bare('flushed')} flushed`),
    ],
    rounds,
    1,
  );
  const over = 'keys with files over a bare client';
  return [
    ...ratioRows(result, `${over} that flushes them`, 'apply', 'flushed', bareMax),
    ...ratioRows(result, `${over} that does not`, 'apply', 'bare', bareMax),
    { metric: 'share of CPU used by other processes', ratio: result.otherCpuShare, aim: null },
  ];
}

function writeKeys(folder: string, round: number, count: number): void {
  mkdirSync(folder);
  const documents = Array.from({ length: count }, (_, at) => {
    const name = `key-${round}-${at}`;
    return `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}}
spec: {scopes: [completions.write], secretOutput: {file: {path: keys/${name}.key}}}
`;
  });
  writeFileSync(join(folder, 'keys.yaml'), documents.join('---\n'));
}
