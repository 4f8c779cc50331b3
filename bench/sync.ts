/** Measures sync without changes, next to other owners, and after a commit. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { request } from 'undici';
import { writeDocuments } from './documents.ts';
import { interleave, type Member, type Row, ratioRows, type Target } from './harness.ts';
import { cpuTicks } from './product.ts';
import { type SyncSetup, withSyncSetup } from './sync-setup.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');
const resources = 10_000;
const ownResources = 1_000;
const rounds = 5;
const unchangedRequests = 300;
const msPerTick = 10;
const intervalSeconds = 5;
const commits = 3;
const planMax = 2;
const mibMax = 1;
const unchangedMsMax = 10;
const besideOthersMax = 1.2;
const lagSecondsMax = 2;

export const member: Member = {
  name: 'sync: no changes, other owners, a commit',
  run: (scale) => withSyncSetup((setup) => rowsOf(setup, scale)),
};

async function rowsOf(setup: SyncSetup, scale: number): Promise<Row[]> {
  const count = (all: number): number => Math.ceil(all * scale);
  writeDocuments(join(setup.folder, 'own'), count(ownResources), { prefix: 'own-' });
  writeDocuments(join(setup.folder, 'all'), count(resources));
  writeDocuments(join(setup.folder, 'single'), count(resources), { documentsPerFile: 1 });
  apply(setup, 'own');
  const alone = await ownPlan(setup);
  apply(setup, 'all');
  const besideOthers = await ownPlan(setup);
  const planned = interleave([validate(setup, 'all'), plan(setup, 'all')], rounds, 1);
  const files = interleave([validate(setup, 'all'), validate(setup, 'single')], rounds, 1);
  return [
    ...ratioRows(
      planned,
      'plan without changes over validate',
      'plan all',
      'validate all',
      planMax,
    ),
    ...ratioRows(files, 'one document per file over five', 'validate single', 'validate all', null),
    ...(await snapshotRows(setup, scale)),
    row(
      'plan next to a ten times larger owner, over alone, CPU',
      besideOthers.plan / alone.plan,
      besideOthersMax,
    ),
    row('the same plan, CPU of the server', besideOthers.server / alone.server, besideOthersMax),
    row(
      'seconds from commit to applied, beyond the interval',
      await lagSeconds(setup),
      lagSecondsMax,
    ),
    row('share of CPU used by other processes', planned.otherCpuShare, null),
  ];
}

function row(metric: string, ratio: number, aim: number | null): Row {
  return { metric, ratio, aim };
}

const validate = ({ folder }: SyncSetup, source: string): Target => ({
  name: `validate ${source}`,
  command: process.execPath,
  args: [main, 'validate', join(folder, source)],
});

/** Each source has its own owner. */
function words({ folder }: SyncSetup, command: string, source: string): string[] {
  const credentials = ['--credentials', join(folder, 'credentials.json')];
  const home = ['--home', join(folder, 'home'), '--owner', source];
  return [main, command, join(folder, source), ...credentials, ...home];
}

const plan = (setup: SyncSetup, source: string): Target => ({
  name: `plan ${source}`,
  command: process.execPath,
  args: words(setup, 'plan', source),
});

function apply(setup: SyncSetup, source: string): void {
  const args = [...words(setup, 'apply', source), '--yes'];
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0)
    throw new Error(`apply exited with ${status}: ${stderr.toString().slice(-2000)}`);
}

/** Plans the small owner without a cached snapshot, so that the full snapshot is sent. CPU of both sides in ms. */
async function ownPlan(setup: SyncSetup): Promise<{ plan: number; server: number }> {
  const { pid } = setup.server.process;
  const target = plan(setup, 'own');
  const uncachedPlan = {
    ...target,
    command: '/bin/sh',
    args: ['-c', withoutSnapshotCache(setup, target)],
  };
  const before = cpuTicks(pid!);
  const { measures } = interleave([uncachedPlan], rounds, 1);
  const server = ((cpuTicks(pid!) - before) * msPerTick) / (rounds + 1);
  return { plan: measures.get(target.name)!.cpuMs, server };
}

function withoutSnapshotCache({ folder }: SyncSetup, { command, args }: Target): string {
  const quoted = [command, ...args].map((word) => `'${word}'`).join(' ');
  return `rm -rf '${join(folder, 'home', 'snapshots')}' && exec ${quoted}`;
}

/** Measures the size of a snapshot of 10,000 resources and the CPU time of a 304 response. */
async function snapshotRows({ server, tenant }: SyncSetup, scale: number): Promise<Row[]> {
  const { clientId, clientSecret, tsgId } = tenant;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const tokenResponse = await request(`${server.url}/oauth2/access_token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
  });
  const { access_token: token } = (await tokenResponse.body.json()) as { access_token: string };
  const get = (headers: Record<string, string>) =>
    request(`${server.url}/admin/v2/gatewright/snapshot?owner=all`, {
      headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'zstd', ...headers },
    });
  const first = await get({});
  const bytes = (await first.body.arrayBuffer()).byteLength;
  const before = cpuTicks(server.process.pid!);
  for (let at = 0; at < unchangedRequests; at += 1) {
    const { statusCode, body } = await get({ 'if-none-match': String(first.headers.etag) });
    await body.dump();
    if (statusCode !== 304) throw new Error(`${statusCode} instead of 304`);
  }
  const ms = ((cpuTicks(server.process.pid!) - before) * msPerTick) / unchangedRequests;
  return [
    row('MiB of a snapshot of 10,000 resources', bytes / 1024 / 1024 / scale, mibMax),
    row('ms CPU of the server for a 304', ms, unchangedMsMax),
  ];
}

/** Returns the longest lag over a few commits to a repository that a daemon watches. */
async function lagSeconds(setup: SyncSetup): Promise<number> {
  const repository = join(setup.folder, 'repository');
  const git = (...args: string[]): void => {
    const author = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.com'];
    const { status, stderr } = spawnSync('git', ['-C', repository, ...author, ...args]);
    if (status !== 0) throw new Error(stderr.toString());
  };
  writeDocuments(repository, ownResources / 10, { prefix: 'git-' });
  git('init', '--quiet', '--initial-branch=main');
  const commit = (at: number): void => {
    const text = `apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: lag}
spec: {config: {retry: {attempts: ${at}}}}
`;
    writeFileSync(join(repository, 'lag.yaml'), text);
    git('add', '.');
    git('commit', '--quiet', '-m', `${at}`);
  };
  commit(0);
  const args = words({ ...setup, folder: setup.folder }, 'sync', 'git');
  args[2] = `file://${repository}#main`;
  const options = ['--interval', `${intervalSeconds}s`, '-o', 'json'];
  const daemon = spawn(process.execPath, [...args, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const events = createInterface({ input: daemon.stdout })[Symbol.asyncIterator]();
  await nextCycle(events);
  let longest = 0;
  for (let at = 1; at <= commits; at += 1) {
    commit(at);
    const committed = performance.now();
    await nextCycle(events);
    longest = Math.max(longest, (performance.now() - committed) / 1000);
  }
  daemon.kill();
  await once(daemon, 'exit');
  return longest - intervalSeconds;
}

async function nextCycle(events: AsyncIterator<string>): Promise<void> {
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error('the daemon ended');
    const { event } = JSON.parse(value) as { event: string };
    if (event === 'cycle') return;
  }
}
