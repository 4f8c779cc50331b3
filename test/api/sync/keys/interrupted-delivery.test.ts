/**
 * Verifies that keys and their files are correct wherever a run is killed: before every file
 * operation and every request.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CycleResult } from '../../../../src/sync/cycle/cycle-options.ts';
import { isQuestion, losing, startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
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

let server: TestServer;
let files: Disposable;
let sync: SyncSetup;
beforeAll(async () => {
  server = await startSyncServer();
  files = stepThroughFiles();
  sync = openSync(server);
});
afterAll(async () => {
  files[Symbol.dispose]();
  rmSync(`${sync.secretsFolder}-other`, { recursive: true, force: true });
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
/**
 * Deletes keys and leases, and advances the clock by a minute because guesses of values are limited
 * per minute.
 */
async function clearAway(): Promise<void> {
  server.clock.advance(60_000);
  await endLeases(server);
  for (const { id } of await keysOfStories()) {
    expect((await server.request('DELETE', `/v2/api-keys/${id}`)).status).toBe(200);
  }
}

async function keysOfStories(): Promise<{ id: string; name: string }[]> {
  const { body } = await server.request('GET', '/v2/api-keys?page_size=100');
  return body.data.filter(({ name }: { name: string }) => /^(bot|new|legacy|robot)/.test(name));
}

/** A key with one scope, which identifies its value. */
function key(name: string, scope: string, file: string, more: Record<string, string> = {}): string {
  const { previous = '', fixed = '' } = more;
  return `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}, previousNames: [${previous}]}
spec: {${fixed}scopes: [${scope}], secretOutput: {file: {path: ${file}}}}
`;
}

const fixed = 'subType: user, userId: 0197c2a5-6f5e-7c3a-9d5e-1f2a3b4c5d6e, ';
const [one, two, three] = ['workspaces.list', 'configs.list', 'guardrails.list'];
const bot = key('bot', one, 'bot.key');

interface Story {
  /** The manifests before the interrupted run. */
  readonly before: string;
  readonly after: string;
  /** Number of keys that the run creates. */
  readonly makes: number;
  /** By name, the scope of each key at the end, and its file. */
  readonly keys: Readonly<Record<string, readonly [scope: string, file: string]>>;
  /** Keys that must keep their values, by their former files. */
  readonly keeps?: Readonly<Record<string, string>>;
}

const stories: Readonly<Record<string, Story>> = {
  'a create': { before: '', after: bot, makes: 1, keys: { bot: [one, 'bot.key'] } },
  'creates in one set': {
    before: '',
    after: bot + key('new', two, 'new.key'),
    makes: 2,
    keys: { bot: [one, 'bot.key'], new: [two, 'new.key'] },
  },
  'a replacement': {
    before: bot,
    after: key('bot', one, 'bot.key', { fixed }),
    makes: 1,
    keys: { bot: [one, 'bot.key'] },
  },
  'a deletion': { before: bot, after: '', makes: 0, keys: {} },
  'a deletion beside a create in the same place': {
    before: bot,
    after: key('new', two, 'bot.key'),
    makes: 1,
    keys: { new: [two, 'bot.key'] },
  },
  'a rename': {
    before: bot,
    after: key('robot', one, 'bot.key', { previous: 'bot' }),
    makes: 0,
    keys: { robot: [one, 'bot.key'] },
    keeps: { robot: 'bot.key' },
  },
  'a rename that takes its file along': {
    before: bot,
    after: key('robot', one, 'robots/robot.key', { previous: 'bot' }),
    makes: 0,
    keys: { robot: [one, 'robots/robot.key'] },
    keeps: { robot: 'bot.key' },
  },
  'a new place for a file': {
    before: bot,
    after: key('bot', one, 'bots/bot.key'),
    makes: 0,
    keys: { bot: [one, 'bots/bot.key'] },
    keeps: { bot: 'bot.key' },
  },
  'two files that change places': {
    before: key('bot', one, 'bot.key') + key('new', two, 'new.key'),
    after: key('bot', one, 'new.key') + key('new', two, 'bot.key'),
    makes: 0,
    keys: { bot: [one, 'new.key'], new: [two, 'bot.key'] },
    keeps: { bot: 'bot.key', new: 'new.key' },
  },
  'a rename beside a new key of the name': {
    before: bot,
    after: key('legacy', one, 'legacy.key', { previous: 'bot' }) + key('bot', two, 'bot.key'),
    makes: 1,
    keys: { legacy: [one, 'legacy.key'], bot: [two, 'bot.key'] },
    keeps: { legacy: 'bot.key' },
  },
  'a chain of renames': {
    before: key('bot-a', one, 'a.key') + key('bot-b', two, 'b.key'),
    after:
      key('bot-c', two, 'c.key', { previous: 'bot-b' }) +
      key('bot-b', one, 'b.key', { previous: 'bot-a' }) +
      key('bot-a', three, 'a.key'),
    makes: 1,
    keys: { 'bot-a': [three, 'a.key'], 'bot-b': [one, 'b.key'], 'bot-c': [two, 'c.key'] },
    keeps: { 'bot-b': 'a.key', 'bot-c': 'b.key' },
  },
};

const probes = { [one]: '/v1/workspaces', [two]: '/v1/configs', [three]: '/v1/guardrails' };

/** The scope of the key with this value; undefined when the value is invalid. */
async function scopeOf(value: string): Promise<string | undefined> {
  const headers = { 'x-gateway-api-key': value };
  for (const [scope, path] of Object.entries(probes)) {
    const { status } = await server.request('GET', path, { auth: 'none', headers });
    if (status === 200) return scope;
  }
  return undefined;
}

const valueIn = (folder: string, file: string): string =>
  readFileSync(join(folder, file), 'utf8').trim();

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

/** Number of keys created so far, in all scenarios. */
async function countMade(): Promise<number> {
  const made = server.database.db
    .selectFrom('audit_log')
    .select('id')
    .where('resource_kind', '=', 'ApiKey')
    .where('action', '=', 'create');
  return (await made.execute()).length;
}

interface Stage {
  readonly story: Story;
  readonly folder: string;
  readonly other: string;
  readonly stored: Readonly<Record<string, string>>;
  readonly made: number;
}

async function setUp(story: Story, shares: boolean): Promise<Stage> {
  await clearAway();
  const folder = sync.secretsFolder;
  const other = shares ? folder : `${folder}-other`;
  for (const one of [folder, other]) {
    rmSync(one, { recursive: true, force: true });
    mkdirSync(one);
  }
  expect(await sync.cycle(story.before)).toMatchObject({ ending: 'success' });
  // Existing files get another modification time than those of the run.
  server.clock.advance(60_000);
  const stored = Object.entries(story.keeps ?? {}).map(([name, file]) => [
    name,
    valueIn(folder, file),
  ]);
  return { story, folder, other, stored: Object.fromEntries(stored), made: await countMade() };
}

/** Describes the state after a run, which determines how the following runs start. */
async function comeTo({ folder, other, made }: Stage): Promise<string> {
  return `${(await countMade()) - made} made\n${await leftState(server, folder, other)}`;
}

/** Runs the following runs: another runner, then the first one again; verifies the final state. */
async function finish({ story, folder, other, stored, made }: Stage): Promise<void> {
  server.clock.advance(60_000);
  await endLeases(server);
  const last = new Map<string, CycleResult>();
  for (const place of [other, folder]) {
    last.set(place, await sync.cycle(story.after, { secretsFolder: place }));
  }
  const names = (await keysOfStories()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(Object.keys(story.keys).toSorted());
  expect((await countMade()) - made).toBe(story.makes);
  for (const [name, [scope, file]] of Object.entries(story.keys)) {
    const right: string[] = [];
    for (const [place, { ending, deliveries }] of last) {
      const state = deliveries.find(({ key: id }) => id === `ApiKey/${name}`)?.state;
      if (state !== 'delivered') {
        // The value is in the folder of the run that created it, and this run reports that it is
        // missing.
        expect([folder === other, state, ending]).toEqual([
          false,
          expect.stringMatching(/^(none|mismatch)$/),
          'partialFailure',
        ]);
        continue;
      }
      right.push(place);
      expect([name, await scopeOf(valueIn(place, file))]).toEqual([name, scope]);
      if (stored[name] !== undefined) expect(valueIn(place, file)).toBe(stored[name]);
    }
    expect([name, right.length > 0]).toEqual([name, true]);
  }
  for (const place of [folder, other]) {
    for (const file of filesIn(place)) await expectNoStray(story, place, file, folder === other);
  }
}

/**
 * Any file beside the key files is a second name of one, or was deleted by a run with another
 * folder.
 */
async function expectNoStray(
  story: Story,
  folder: string,
  file: string,
  isShared: boolean,
): Promise<void> {
  const wanted = Object.values(story.keys);
  const scope = await scopeOf(valueIn(folder, file));
  const isLeft = /\.kept-\d+$/.test(file) || (!isShared && file === 'bot.key');
  const isKnown = scope === undefined ? isLeft : wanted.some(([own]) => own === scope);
  expect([file, isKnown]).toEqual([file, true]);
}

/** All faults that prevent a run from succeeding. */
function wrongIn({ ending, report, warnings }: CycleResult): unknown[] {
  if (ending === 'success') return [];
  return [ending, warnings, report?.items.filter(({ status }) => status !== 'done')];
}

const cases = Object.entries(stories).flatMap(([name, story]) =>
  (['shared', 'separate'] as const).flatMap((folders) =>
    // A scenario that only moves files has nothing to do in an empty folder; one with several keys
    // equals one with a single key.
    folders === 'separate' && story.makes !== 1 ? [] : [[name, folders, story] as const],
  ),
);

describe('a run that is killed at any step', () => {
  it.each(cases)(
    'is completed by the next runs: %s, with %s folders',
    async (_, folders, story) => {
      const cycle = () => sync.cycle(story.after, { client: stepping(sync.openClient()) });
      const whole = await setUp(story, folders === 'shared');
      const { result, steps, ofChange } = await stepsOfChange(cycle, () => comeTo(whole));
      expect(wrongIn(result)).toEqual([]);
      await finish(whole);
      for (const k of ofChange) {
        const stage = await setUp(story, folders === 'shared');
        const end = await endAt(k, cycle);
        // The number of steps depends on operations that run concurrently for several files.
        if (end !== 'dead') expect(wrongIn(end)).toEqual([]);
        await finish(stage).catch((error: Error) => {
          throw new Error(`after a death at step ${k}: ${error.message}`, { cause: error });
        });
      }
      expect(steps).toBeGreaterThan(story.makes === 0 ? 5 : 20);
    },
  );
});

describe('a run that loses any response', () => {
  it.each(cases)(
    'is completed by itself or by the next runs: %s, with %s folders',
    async (_, folders, story) => {
      const finished = new Set<string>();
      let changes = 0;
      for (let k = 0; k <= changes; k += 1) {
        const stage = await setUp(story, folders === 'shared');
        const seen: string[] = [];
        const fateOf = losing(k);
        await using proxy = await startFaultyProxy(server.url, (at, request) => {
          seen.push(request);
          return fateOf(at, request);
        });
        const { url } = proxy;
        const client = sync.openClient({ adminBaseUrl: url, baseUrl: `${url}/v1`, authUrl: url });
        const result = await sync.cycle(story.after, { client });
        if (k === 0) changes = seen.filter((request) => !isQuestion(request)).length;
        expect([k, wrongIn(result)]).toEqual([k, []]);
        const state = await comeTo(stage);
        if (finished.has(state)) continue;
        finished.add(state);
        await finish(stage).catch((error: Error) => {
          throw new Error(`after the answer ${k} was lost: ${error.message}`, { cause: error });
        });
      }
      expect(changes).toBeGreaterThan(1);
    },
  );
});
