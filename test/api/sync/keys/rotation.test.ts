/**
 * Verifies declared rotation: delivered and proven before the previous value ends, executed once,
 * wherever a run is killed.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import {
  type Fate,
  isQuestion,
  losing,
  startFaultyProxy,
} from '../../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../../support/server/server.ts';
import {
  endAt,
  stepping,
  stepsOfChange,
  stepThroughFiles,
} from '../../../support/sync/kill-points.ts';
import { endLeases } from '../../../support/sync/lease.ts';
import { leftState } from '../../../support/sync/remaining-state.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

const halfHourMs = 1_800_000;
const dayMs = 86_400_000;

let server: TestServer;
let files: Disposable;
let sync: SyncSetup;
let other: string;

beforeAll(async () => {
  server = await startSyncServer();
  files = stepThroughFiles();
  sync = openSync(server);
  other = `${sync.secretsFolder}-other`;
});
afterAll(async () => {
  files[Symbol.dispose]();
  rmSync(other, { recursive: true, force: true });
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(setUp);

/**
 * Deletes keys, leases and files, and advances the clock by a minute because guesses of values are
 * limited per minute.
 */
async function setUp(): Promise<void> {
  server.clock.advance(60_000);
  await endLeases(server);
  await cycle('');
  for (const folder of [sync.secretsFolder, other]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  }
}

function bot(rotation = '', more = ''): string {
  const terms = rotation === '' ? '' : `, rotation: {${rotation}}`;
  return `apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot}
spec: {${more}scopes: [workspaces.list], secretOutput: {file: {path: bot.key}}${terms}}
`;
}

const cycle: SyncSetup['cycle'] = (manifests, options = {}) =>
  sync.cycle(manifests, { clock: server.clock, ...options });

const valueIn = (folder = sync.secretsFolder, file = 'bot.key'): string =>
  readFileSync(join(folder, file), 'utf8').trim();

async function opens(value: string): Promise<boolean> {
  const headers = { 'x-gateway-api-key': value };
  return (await server.request('GET', '/v1/workspaces', { auth: 'none', headers })).status === 200;
}

async function record() {
  const { body } = await server.request('GET', '/v2/api-keys?page_size=100');
  return body.data.find(({ name }: { name: string }) => /^(bot|robot)$/.test(name));
}

/** Number of valid values. */
async function countGood(): Promise<number> {
  const rows = await server.database.db
    .selectFrom('api_key_hashes')
    .selectAll()
    .where('api_key_id', '=', (await record()).id)
    .execute();
  return rows.filter((row) => row.valid_until === null || row.valid_until > server.clock.now())
    .length;
}

/** Number of values that rotations have created for the key. */
async function countMinted(): Promise<number> {
  const rows = await server.database.db
    .selectFrom('audit_log')
    .select('changes')
    .where('action', '=', 'rotate')
    .where('resource_id', '=', (await record()).id)
    .execute();
  const begun = rows.map(({ changes }) => JSON.parse(changes ?? '{}'));
  return begun.filter(({ key_transition_expires_at: end }) => end === null).length;
}

describe('a raised rotation generation', () => {
  it('replaces the value in its file under the same id, and ends the previous one after the overlap', async () => {
    await cycle(bot('', 'usageLimits: {type: cost, creditLimit: 5}, '));
    const [before, { id }] = [valueIn(), await record()];
    const manifest = bot(
      'generation: 2, overlap: 2h',
      'usageLimits: {type: cost, creditLimit: 5}, ',
    );
    const { ending, plan, report } = await cycle(manifest);
    expect(ending).toBe('success');
    expect(plan.changes).toMatchObject([
      { action: 'rotate', rotation: { because: 'generation', generation: { from: 1, to: 2 } } },
    ]);
    expect(report?.items).toMatchObject([{ action: 'rotate', status: 'done', resourceId: id }]);
    const after = valueIn();
    expect(after).not.toBe(before);
    expect([await opens(before), await opens(after)]).toEqual([true, true]);
    expect(await record()).toMatchObject({ id, usage_limits: { credit_limit: 5 } });
    const { body } = await server.request(
      'GET',
      '/admin/v2/gatewright/sync/revisions?owner=platform&page_size=1',
    );
    const { number } = body.data[0];
    const path = `/admin/v2/gatewright/sync/revisions/${number}?owner=platform`;
    expect((await server.request('GET', path)).body.changes).toMatchObject([
      { action: 'rotate', kind: 'ApiKey', name: 'bot' },
    ]);
    expect((await cycle(manifest)).plan.changes).toEqual([]);
    server.clock.advance(2 * 3_600_000);
    expect([await opens(before), await opens(after)]).toEqual([false, true]);
    expect((await cycle(manifest)).plan.changes).toEqual([]);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('waits for the end of the previous value, reports that, and is then executed', async () => {
    await cycle(bot());
    await cycle(bot('generation: 2'));
    const { plan, warnings, ending } = await cycle(bot('generation: 3'));
    expect([plan.changes, ending]).toEqual([[], 'success']);
    const end = server.clock.now() + halfHourMs;
    expect(plan.nextRotationAt).toBe(end);
    expect(warnings.join()).toContain(new Date(end).toISOString());
    server.clock.set(end);
    expect((await cycle(bot('generation: 3'))).plan.changes).toMatchObject([{ action: 'rotate' }]);
    expect((await cycle(bot('generation: 3'))).plan.changes).toEqual([]);
  });

  it('rotates nothing when it is lowered, which is recorded; without rotation the record stays', async () => {
    await cycle(bot());
    expect((await cycle(bot('generation: 1'))).plan.changes).toEqual([]);
    await cycle(bot('generation: 2'));
    const value = valueIn();
    expect((await cycle(bot())).plan.changes).toEqual([]);
    const lower = bot('generation: 1');
    expect((await cycle(lower)).plan.changes).toMatchObject([{ action: 'update', fields: [] }]);
    expect((await cycle(lower)).plan.changes).toEqual([]);
    expect(valueIn()).toBe(value);
  });

  it('is applied together with other changes, which come first', async () => {
    await cycle(bot());
    server.clock.advance(1_000);
    const manifest = bot('generation: 2, overlap: 1h', 'description: other, ');
    const { plan, ending } = await cycle(manifest);
    expect([plan.changes.length, plan.changes[0]!.action, ending]).toEqual([
      1,
      'rotate',
      'success',
    ]);
    const { description, rotated_at, key_transition_expires_at: end } = await record();
    expect(description).toBe('other');
    expect(Date.parse(end) - Date.parse(rotated_at)).toBeGreaterThanOrEqual(3_600_000);
    expect((await cycle(manifest)).plan.changes).toEqual([]);
  });

  it('restores a lost value when the file is missing', async () => {
    await cycle(bot());
    rmSync(join(sync.secretsFolder, 'bot.key'));
    const lost = await cycle(bot());
    expect(lost.warnings.join()).toContain('raise rotation.generation');
    expect((await cycle(bot('generation: 2'))).ending).toBe('success');
    expect(await opens(valueIn())).toBe(true);
  });
});

it('appears in a plan with its reason and the end of the values, and is no drift', async () => {
  await cycle(bot());
  const { plan } = await cycle(bot('generation: 2, overlap: 24h'), { act: false });
  const text = textReport({ plan, report: null, refusal: null, declined: false, warnings: [] });
  expect(text).toContain('↻ rotate ApiKey/bot');
  expect(text).toContain(
    'generation 1 → 2, the previous value ends 1d after the new one is delivered',
  );
  expect(text).toContain('1 to rotate');
  expect(planDocument(plan, [])).toMatchObject({
    summary: { rotate: 1, update: 0 },
    changes: [
      {
        action: 'rotate',
        reason: 'rotation',
        rotation: { because: 'generation', generation: { from: 1, to: 2 }, overlapMs: dayMs },
      },
    ],
  });
});

describe('a rotation period', () => {
  it('rotates when it is over, and the plan shows the reason and the end of the values', async () => {
    const manifest = bot('period: 30d, overlap: 24h');
    await cycle(manifest);
    const due = Date.parse((await record()).rotation_policy.next_rotation_at);
    const early = await cycle(manifest);
    expect([early.plan.changes, early.plan.nextRotationAt]).toEqual([[], due]);
    server.clock.set(due);
    const before = valueIn();
    const { plan, ending } = await cycle(manifest);
    expect(plan.changes[0]!.rotation).toEqual({
      because: 'period',
      generation: { from: 1, to: 1 },
      dueAt: new Date(due).toISOString(),
      overlapMs: dayMs,
    });
    expect(ending).toBe('success');
    expect(valueIn()).not.toBe(before);
    const again = await cycle(manifest);
    expect(again.plan.changes).toEqual([]);
    expect(again.plan.nextRotationAt).toBeGreaterThan(due + 29 * dayMs);
  });

  it('rotates nothing when only a policy sets it, because no delivery was requested', async () => {
    const manifest = bot('', 'rotationPolicy: {rotationPeriod: weekly}, ');
    await cycle(manifest);
    server.clock.advance(8 * dayMs);
    const { plan } = await cycle(manifest);
    expect([plan.changes, plan.nextRotationAt]).toEqual([[], null]);
  });
});

it('reports a file with the previous value as outdated, wherever it was rotated', async () => {
  await cycle(bot());
  const { id } = await record();
  await server.request('POST', `/v2/api-keys/${id}/rotate`);
  const { deliveries, ending } = await cycle(bot());
  expect([deliveries[0]!.state, ending]).toEqual(['outdated', 'partialFailure']);
  server.clock.advance(halfHourMs);
  expect((await cycle(bot('generation: 2'))).ending).toBe('success');
  expect(await opens(valueIn())).toBe(true);
});

it('discards an undelivered value with a higher generation, and keeps the previous one valid', async () => {
  await cycle(bot());
  const client = stepping(sync.openClient());
  let first = 0;
  const rotate = () => cycle(bot('generation: 2'), { client });
  await stepsOfChange(rotate, async (step) => {
    const { rotated_at: isRotated } = await record();
    if (first === 0 && isRotated !== undefined) first = step;
    return '';
  });
  await setUp();
  await cycle(bot());
  expect(await endAt(first, rotate)).toBe('dead');
  const before = valueIn();
  for (const name of readdirSync(sync.secretsFolder)) {
    if (name.endsWith('.pending')) rmSync(join(sync.secretsFolder, name));
  }
  await endLeases(server);
  const stuck = await cycle(bot('generation: 2'));
  expect([stuck.ending, stuck.report?.items[0]?.message]).toEqual([
    'partialFailure',
    expect.stringContaining('raise rotation.generation'),
  ]);
  expect(await opens(before)).toBe(true);
  expect((await cycle(bot('generation: 3'))).ending).toBe('success');
  expect([await opens(before), await opens(valueIn()), await countGood()]).toEqual([true, true, 2]);
});

interface Story {
  readonly after: string;
  readonly file: string;
}

const stories: Readonly<Record<string, Story>> = {
  'a rotation': { after: bot('generation: 2', 'description: other, '), file: 'bot.key' },
  'a rotation of a key that is renamed and whose file moves': {
    after: bot('generation: 2')
      .replaceAll('bot', 'robot')
      .replace('name: robot', 'name: robot, previousNames: [bot]'),
    file: 'robot.key',
  },
};

/**
 * The invariant at any moment, and after two more runs: of another runner, and of the first one
 * again.
 */
async function finish(folder: string, { after, file }: Story): Promise<void> {
  const there = readdirSync(sync.secretsFolder).find((name) => name.endsWith('.key'))!;
  const isOpen = await opens(valueIn(sync.secretsFolder, there));
  expect([isOpen, (await countGood()) <= 2]).toEqual([true, true]);
  server.clock.advance(60_000);
  await endLeases(server);
  const last = new Map<string, string | undefined>();
  for (const place of [folder, sync.secretsFolder]) {
    const { deliveries } = await cycle(after, { secretsFolder: place });
    last.set(place, deliveries[0]?.state);
    if (readdirSync(place).includes(file)) expect(await opens(valueIn(place, file))).toBe(true);
    expect(await countGood()).toBeLessThanOrEqual(2);
  }
  expect(await countMinted()).toBe(1);
  const right = [...last].filter(([, state]) => state === 'delivered');
  expect(right.length).toBeGreaterThan(0);
  // A run that is killed while it moves a file leaves the file under both names.
  const isLeft = (name: string) => name === 'bot.key' && name !== file;
  for (const [place] of right) {
    expect(readdirSync(place).filter((name) => !isLeft(name))).toEqual([file]);
  }
  // The previous value has an end by now, and every receiver has the new one.
  server.clock.advance(halfHourMs);
  expect(await countGood()).toBe(1);
  for (const [place] of right) expect(await opens(valueIn(place, file))).toBe(true);
}

const cases = Object.entries(stories).flatMap(([name, story]) =>
  (['shared', 'separate'] as const).map((folders) => [name, folders, story] as const),
);

describe.each(cases)('a rotation %s, with %s folders', (_, folders, story) => {
  const folder = () => (folders === 'shared' ? sync.secretsFolder : other);

  /** Creates the key one minute before the rotation. */
  const setUpKey = async (): Promise<void> => {
    await setUp();
    await cycle(bot());
    server.clock.advance(60_000);
  };
  const comeTo = async (): Promise<string> =>
    `${await countMinted()} minted\n${await leftState(server, sync.secretsFolder, other)}`;

  it('is completed by the next runs when a run is killed at any step', async () => {
    const run = () => cycle(story.after, { client: stepping(sync.openClient()) });
    await setUpKey();
    const { result, steps, ofChange } = await stepsOfChange(run, comeTo);
    expect([result.ending, steps > 30]).toEqual(['success', true]);
    await finish(folder(), story);
    for (const k of ofChange) {
      await setUpKey();
      expect(await endAt(k, run)).toBe('dead');
      await finish(folder(), story).catch((error: Error) => {
        throw new Error(`after a death at step ${k}: ${error.message}`, { cause: error });
      });
    }
  });

  it('is completed by the run when any response is lost', async () => {
    const finished = new Set<string>();
    let changes = 0;
    for (let k = 0; k <= changes; k += 1) {
      await setUpKey();
      const seen: string[] = [];
      const fateOf = losing(k);
      await using proxy = await startFaultyProxy(server.url, (at, request) => {
        seen.push(request);
        return fateOf(at, request);
      });
      const { url } = proxy;
      const client = sync.openClient({ adminBaseUrl: url, baseUrl: `${url}/v1`, authUrl: url });
      const { ending } = await cycle(story.after, { client });
      if (k === 0) changes = seen.filter((request) => !isQuestion(request)).length;
      expect([k, ending]).toEqual([k, 'success']);
      const state = await comeTo();
      if (finished.has(state)) continue;
      finished.add(state);
      await finish(folder(), story).catch((error: Error) => {
        throw new Error(`after the answer ${k} was lost: ${error.message}`, { cause: error });
      });
    }
    expect(changes).toBeGreaterThan(4);
  });

  it('creates one value in two concurrent runs', async () => {
    await cycle(bot());
    const runs = [sync.secretsFolder, folder()].map((secretsFolder) =>
      cycle(story.after, { secretsFolder, client: sync.openClient() }),
    );
    const endings = (await Promise.all(runs)).map(({ ending }) => ending);
    expect(endings).toContain('success');
    await finish(folder(), story);
  });
});

it.each([403, 409])(
  'counts as executed after a lost response, also when the retry is rejected with %i',
  async (status) => {
    await cycle(bot());
    const before = valueIn();
    const fates: Fate[] = ['cut-after', status];
    await using proxy = await startFaultyProxy(server.url, (_, request) =>
      request.includes('/rotate') ? (fates.shift() ?? 'pass') : 'pass',
    );
    const { url } = proxy;
    const client = sync.openClient({ adminBaseUrl: url, baseUrl: `${url}/v1`, authUrl: url });
    expect(await cycle(bot('generation: 2'), { client })).toMatchObject({ ending: 'success' });
    expect(valueIn()).not.toBe(before);
    expect(await opens(valueIn())).toBe(true);
    expect(await countMinted()).toBe(1);
  },
);

it('keeps the previous value valid without an end when a file cannot be written', async () => {
  await cycle(bot());
  const before = valueIn();
  rmSync(join(sync.secretsFolder, 'bot.key'));
  mkdirSync(join(sync.secretsFolder, 'bot.key'));
  const failed = await cycle(bot('generation: 2'));
  expect(failed).toMatchObject({
    ending: 'partialFailure',
    deliveries: [{ state: 'unreadable', message: expect.stringContaining('not a plain file') }],
    report: { items: [{ status: 'failed', message: expect.stringContaining('not a plain file') }] },
  });
  server.clock.advance(dayMs);
  expect(await opens(before)).toBe(true);
  rmSync(join(sync.secretsFolder, 'bot.key'), { recursive: true });
  writeFileSync(join(sync.secretsFolder, 'bot.key'), before);
});

describe('a key without a manifest', () => {
  it('is deleted with every file that contains its value, and no other', async () => {
    const [own, other] = [join(sync.secretsFolder, 'bot.key'), join(sync.secretsFolder, 'new.key')];
    const fresh = bot().replaceAll('bot', 'new');
    await cycle(`${bot()}---\n${fresh}`);
    writeFileSync(join(sync.secretsFolder, 'copy'), readFileSync(own));
    expect((await cycle(fresh)).ending).toBe('success');
    expect(readdirSync(sync.secretsFolder)).toEqual(['new.key']);
    expect(await opens(readFileSync(other, 'utf8').trim())).toBe(true);
  });

  it('keeps its file when the server rejects the deletion', async () => {
    await cycle(bot());
    const { id } = await record();
    const client = sync.openClient();
    const send = client.request.bind(client);
    client.request = async (request) => {
      if (request.method === 'DELETE' && request.path.endsWith(id)) {
        const body = { description: 'changed meanwhile' };
        await server.request('PUT', `/v2/api-keys/${id}`, { body });
      }
      return await send(request);
    };
    const { report } = await cycle('', { client });
    expect(report?.items).toMatchObject([{ action: 'delete', status: 'stale' }]);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
    expect(await opens(valueIn())).toBe(true);
  });
});
