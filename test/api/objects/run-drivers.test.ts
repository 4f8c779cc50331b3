/**
 * Verifies runs whose drivers die, sleep, stop or compete, on a real database with a scripted
 * model.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKind } from '../../../src/model/endpoints/object-kind.ts';
import type { RunStatus } from '../../../src/model/objects/run-states.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import type { ModelResponse } from '../../../src/objects/model-calls.ts';
import type { ObjectRequest } from '../../../src/objects/object-request.ts';
import { AssistantObjects } from '../../../src/objects/runs/assistant-objects.ts';
import { RunDriverPool } from '../../../src/objects/runs/run-driver-pool.ts';
import type { StoreSearch, TextMatch } from '../../../src/objects/store-search.ts';
import type { Database, Db } from '../../../src/store/connection/db.ts';
import * as runSteps from '../../../src/store/objects/run-steps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { eventually } from '../../support/server/eventually.ts';
import { chatAnswer } from '../../support/upstream/upstream.ts';

type Parts = Pick<Database, 'db' | 'transaction'>;

interface ModelCall {
  readonly params: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  answer(answer: ModelResponse): void;
}

interface RunRecord {
  readonly id: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly usage: { readonly total_tokens: number } | null;
  readonly [member: string]: unknown;
}

const leaseMs = 30_000;
const owner = { organisationId: newId(), workspaceId: '', apiKeyId: newId() };
const contentValue = { status: 200, body: chatAnswer };
const calling = (...called: [string, string][]) => ({
  status: 200,
  body: {
    ...chatAnswer,
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          tool_calls: called.map(([id, name]) => ({
            id,
            type: 'function',
            function: { name, arguments: '{"queries":["why"]}' },
          })),
        },
      },
    ],
  },
});
const calls = calling(['a', 'f']);
const searches = calling(['s', 'file_search']);
const found: TextMatch = {
  fileId: 'file_1',
  filename: 'notes.md',
  score: 0.5,
  attributes: {},
  text: 'because',
};

let test: TestDatabase;
let now = Date.UTC(2027, 0, 4, 8);
let requested: ModelCall[];
let replicas: RunDriverPool[];

beforeAll(async () => {
  test = await createTestDatabase();
});

afterAll(async () => {
  await Promise.all(replicas.map((drivers) => drivers[Symbol.asyncDispose]()));
  await test[Symbol.asyncDispose]();
});

beforeEach(startAnew);

/** Clears the runs that earlier tests left. */
async function startAnew(): Promise<void> {
  await Promise.all((replicas ?? []).map((drivers) => drivers[Symbol.asyncDispose]()));
  replicas = [];
  requested = [];
  await test.database.db.deleteFrom('runs').execute();
}

/** A search that calls a model, as when the gateway stores the vector stores. */
const search: StoreSearch = {
  search: async (_owner, _ids, { models, queries }) => {
    await models.call('/embeddings', { input: queries });
    return [found];
  },
  listSearchable: async (_, ids) => ids,
};

/** A process with the routes for callers and a driver. */
function replica({
  database = test.database as Parts,
  step = () => {},
  faults = [] as unknown[],
} = {}) {
  const drivers = new RunDriverPool({
    database,
    now: () => now,
    onFault: (error) => faults.push(error),
    callsOf: () => ({
      call: async (path, params, { signal } = {}) => {
        step();
        if (path === '/embeddings') return { status: 200, body: null };
        const { promise, resolve } = Promise.withResolvers<ModelResponse>();
        requested.push({ params, signal: signal!, answer: resolve });
        const answer = await promise;
        step();
        return answer;
      },
    }),
    search,
  });
  replicas.push(drivers);
  const objects = new AssistantObjects({ database: test.database, drivers, search });
  return { drivers, faults, objects };
}

type Replica = ReturnType<typeof replica>;

async function ask(
  { objects }: Replica,
  method: string,
  path: string,
  params: object = {},
): Promise<RunRecord> {
  const [kind, id = null, ...rest] = path.split('/');
  const request: ObjectRequest = {
    owner,
    now,
    method,
    kind: kind as ObjectKind,
    params: { ...params },
    ...(id === 'runs' ? { id: null, rest: ['runs'] } : { id, rest }),
    query: new URLSearchParams('order=asc'),
    upload: null,
    contentType: null,
    isRetry: false,
    modelCaller: () => ({ ...owner, headers: {} }),
    models: {
      call: () => Promise.reject(new Error('no model is asked while a request is answered')),
    },
  };
  const answer = await objects.handle(request);
  if (answer === null) throw new Error(`${path} is nobody's`);
  return answer.body as RunRecord;
}

async function newRun(of: Replica): Promise<RunRecord> {
  const tools = [{ type: 'function', function: { name: 'f' } }, { type: 'file_search' }];
  const resources = { file_search: { vector_store_ids: ['vs_1'] } };
  const assistant = await ask(of, 'POST', 'assistants', {
    model: 'm',
    tools,
    tool_resources: resources,
  });
  const thread = { messages: [{ role: 'user', content: 'hello' }] };
  return ask(of, 'POST', 'threads/runs', { assistant_id: assistant.id, thread });
}

const pathOf = ({ id, thread_id: thread }: RunRecord): string => `threads/${thread}/runs/${id}`;

const look = (of: Replica, run: RunRecord): Promise<RunRecord> => ask(of, 'GET', pathOf(run));

const becomes = (of: Replica, run: RunRecord, status: RunStatus): Promise<RunRecord> =>
  eventually(async () => {
    const visible = await look(of, run);
    expect(visible.status).toBe(status);
    return visible;
  });

/** Resolves with the model call of that number once it is made. */
const question = (number: number): Promise<ModelCall> =>
  eventually(async () => {
    expect(requested.length).toBeGreaterThan(number);
    return requested[number]!;
  });

const messagesOf = ({ params }: ModelCall) => params.messages as readonly object[];

/** Answers each new model call with the next response until the condition holds. */
async function answerAll(isSo: () => Promise<boolean>, answers: readonly ModelResponse[]) {
  const before = requested.length;
  const given = new Set<ModelCall>();
  await eventually(async () => {
    for (const [at, one] of requested.slice(before).entries()) {
      if (!given.has(one)) one.answer(answers[at]!);
      given.add(one);
    }
    expect(await isSo()).toBe(true);
  });
}

/** Returns the stored texts of the run and the positions of its steps. */
async function traces(of: Replica, run: RunRecord) {
  const messages = await ask(of, 'GET', `threads/${run.thread_id}/messages`);
  const steps = await runSteps.listAll(test.database.db, {
    organisation_id: owner.organisationId,
    id: run.id,
  });
  const { data } = messages as unknown as { data: { role: string }[] };
  return {
    messages: data.filter(({ role }) => role === 'assistant').length,
    steps: steps.map(({ place, status }) => `${place} ${status}`),
  };
}

/** A database that dies before the statement of that number, or before its result is known. */
function dying(diesAt: number) {
  let steps = 0;
  const step = (): void => {
    steps += 1;
    if (steps >= diesAt) throw new Error('killed');
  };
  const stepping = (db: Db): Db =>
    db.withPlugin({
      transformQuery: ({ node }) => {
        step();
        return node;
      },
      transformResult: async ({ result }) => {
        step();
        return result;
      },
    });
  const database: Parts = {
    db: stepping(test.database.db),
    transaction: async (work) => {
      const done = await test.database.transaction((tx) => work(stepping(tx)), 1);
      step();
      return done;
    },
  };
  return { database, step, steps: () => steps };
}

describe('a driver that dies', () => {
  it('leaves a run at any point that another driver completes, without repeated steps or tokens', async () => {
    const successor = replica();
    let isWhole = false;
    for (let diesAt = 1; !isWhole; diesAt += 1) {
      requested = [];
      const death = dying(diesAt);
      const victim = replica(death);
      const run = await newRun(victim);
      await eventually(async () =>
        expect(requested.length + victim.faults.length).toBeGreaterThan(0),
      );
      requested[0]?.answer(contentValue);
      await eventually(async () => {
        const isOver = (await look(successor, run)).status === 'completed';
        expect(isOver || victim.faults.length === 1).toBe(true);
      });
      isWhole = victim.faults.length === 0;
      now += leaseMs;
      const isTaken = (await successor.drivers.takeOver()) === 1;
      if (isTaken) (await question(requested.length)).answer(contentValue);
      const ended = await becomes(successor, run, 'completed');
      expect(ended.usage).toMatchObject({ total_tokens: 7 });
      expect(await traces(successor, run)).toEqual({ messages: 1, steps: ['0 completed'] });
    }
  });

  it('leaves a pending search to another driver, which repeats no model call', async () => {
    const successor = replica();
    const answers = [searches, contentValue];
    let isWhole = false;
    for (let diesAt = 1; !isWhole; diesAt += 1) {
      requested = [];
      const death = dying(diesAt);
      const victim = replica(death);
      const run = await newRun(victim);
      await answerAll(async () => {
        const isOver = (await look(successor, run)).status === 'completed';
        return isOver || victim.faults.length === 1;
      }, answers);
      isWhole = victim.faults.length === 0;
      const isWritten = (await traces(successor, run)).steps.length;
      const requestedBefore = requested.length;
      now += leaseMs;
      await successor.drivers.takeOver();
      await answerAll(
        async () => (await look(successor, run)).status === 'completed',
        answers.slice(Math.min(1, isWritten)),
      );
      const ended = await becomes(successor, run, 'completed');
      expect(ended.usage).toMatchObject({ total_tokens: 14 });
      expect(await traces(successor, run)).toEqual({
        messages: 1,
        steps: ['1 completed', '2 completed'],
      });
      expect(requested.length - requestedBefore).toBe(2 - isWritten);
      expect(messagesOf(requested.at(-1)!).at(-1)).toEqual({
        role: 'tool',
        tool_call_id: 's',
        content: '【1:0†source】 notes.md\nbecause',
      });
    }
  });

  it('changes nothing when it survives and another has taken over the run', async () => {
    const [sleeper, successor] = [replica(), replica()];
    const run = await newRun(sleeper);
    const late = await question(0);
    now += leaseMs;
    expect(await successor.drivers.takeOver()).toBe(1);
    (await question(1)).answer(contentValue);
    await becomes(successor, run, 'completed');
    late.answer(calls);
    await sleeper.drivers[Symbol.asyncDispose]();
    expect(await look(successor, run)).toMatchObject({
      status: 'completed',
      usage: { total_tokens: 7 },
    });
    expect(await traces(successor, run)).toEqual({ messages: 1, steps: ['0 completed'] });
  });

  it('is not followed into death by its successors, when a run kills drivers repeatedly', async () => {
    let run: RunRecord | null = null;
    for (let times = 0; times < 5; times += 1) {
      const victim = replica();
      if (run === null) run = await newRun(victim);
      else expect(await victim.drivers.takeOver()).toBe(1);
      await question(times);
      now += leaseMs;
    }
    const last = replica();
    await last.drivers.takeOver();
    const failed = await becomes(last, run!, 'failed');
    expect(failed).toMatchObject({ last_error: { code: 'server_error' } });
    expect(requested).toHaveLength(5);
  });

  it('is replaced at once after an orderly shutdown', async () => {
    const [stopped, successor] = [replica(), replica()];
    const run = await newRun(stopped);
    await question(0);
    await stopped.drivers[Symbol.asyncDispose]();
    expect(await successor.drivers.takeOver()).toBe(1);
    (await question(1)).answer(contentValue);
    await becomes(successor, run, 'completed');
  });
});

describe('a run', () => {
  it('is taken over by one of many drivers', async () => {
    const run = await newRun(replica());
    await question(0);
    now += leaseMs;
    const rivals = Array.from({ length: 20 }, () => replica());
    const taken = await Promise.all(rivals.map(({ drivers }) => drivers.takeOver()));
    expect(taken.reduce((sum, one) => sum + one)).toBe(1);
    (await question(1)).answer(contentValue);
    await becomes(rivals[0]!, run, 'completed');
  });

  it('survives all drivers while it waits for its caller, and continues in any process', async () => {
    const [first, second] = [replica(), replica()];
    const run = await newRun(first);
    (await question(0)).answer(calls);
    await becomes(first, run, 'requires_action');
    await first.drivers[Symbol.asyncDispose]();
    now += leaseMs;
    expect(await second.drivers.takeOver()).toBe(0);
    const outputs = { tool_outputs: [{ tool_call_id: 'a', output: 'x' }] };
    await ask(second, 'POST', `${pathOf(run)}/submit_tool_outputs`, outputs);
    (await question(1)).answer(contentValue);
    const ended = await becomes(second, run, 'completed');
    expect(ended.usage).toMatchObject({ total_tokens: 14 });
    expect((await traces(second, run)).steps).toEqual(['1 completed', '2 completed']);
  });

  it('accepts the outputs of its calls once out of a hundred submissions', async () => {
    const one = replica();
    const run = await newRun(one);
    (await question(0)).answer(calls);
    await becomes(one, run, 'requires_action');
    const path = `${pathOf(run)}/submit_tool_outputs`;
    const outputs = { tool_outputs: [{ tool_call_id: 'a', output: 'x' }] };
    const all = await Promise.allSettled(
      Array.from({ length: 100 }, () => ask(one, 'POST', path, outputs)),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    (await question(1)).answer(contentValue);
    await becomes(one, run, 'completed');
    expect(requested).toHaveLength(2);
  });

  it('stops at its driver when it is cancelled in another replica, and also without a driver', async () => {
    const [driver, other] = [replica(), replica()];
    const driven = await newRun(driver);
    const { signal } = await question(0);
    expect((await ask(other, 'POST', `${pathOf(driven)}/cancel`)).status).toBe('cancelling');
    await driver.drivers.renewLeases();
    await becomes(other, driven, 'cancelled');
    expect(signal.aborted).toBe(true);
    const orphan = await newRun(replica(dying(1)));
    await ask(other, 'POST', `${pathOf(orphan)}/cancel`);
    now += leaseMs;
    await other.drivers.takeOver();
    await becomes(other, orphan, 'cancelled');
  });
});

/** The state of a run that the test expects. */
interface ExpectedRun {
  status: RunStatus;
  tokens: number;
  ageMs: number;
}

const commands = [
  'answer',
  'call',
  'search',
  'both',
  'refuse',
  'submit',
  'cancel',
  'die',
  'wait',
  'look',
] as const;

describe('runs under random events', () => {
  it('matches a model of its state', async () => {
    const sequence = fc.array(fc.constantFrom(...commands), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(sequence, async (happenings) => {
        await startAnew();
        let at = replica();
        const run = await newRun(at);
        const expected: ExpectedRun = { status: 'in_progress', tokens: 0, ageMs: 0 };
        await question(0);
        for (const happening of happenings) {
          at = await happen(happening, at, run, expected);
          const visible = await becomes(at, run, expected.status);
          if (visible.usage !== null) expect(visible.usage.total_tokens).toBe(expected.tokens);
        }
      }),
      { numRuns: 25 },
    );
  });
});

/** Applies an event to the run and to the expected state; returns the process that continues. */
async function happen(
  happening: (typeof commands)[number],
  at: Replica,
  run: RunRecord,
  expected: ExpectedRun,
): Promise<Replica> {
  const isAsking = expected.status === 'in_progress';
  const path = pathOf(run);
  const before = requested.length;
  switch (happening) {
    case 'answer':
    case 'call':
    case 'both':
    case 'refuse': {
      const both = calling(['s', 'file_search'], ['a', 'f']);
      const answers = {
        answer: contentValue,
        call: calls,
        both,
        refuse: { status: 500, body: null },
      };
      requested.at(-1)!.answer(answers[happening]);
      if (!isAsking) return at;
      expected.status = (
        {
          answer: 'completed',
          refuse: 'failed',
          call: 'requires_action',
          both: 'requires_action',
        } as const
      )[happening];
      if (happening !== 'refuse') expected.tokens += 7;
      return at;
    }
    case 'search':
      requested.at(-1)!.answer(searches);
      if (!isAsking) return at;
      expected.tokens += 7;
      await question(before);
      return at;
    case 'submit': {
      const outputs = { tool_outputs: [{ tool_call_id: 'a', output: 'x' }] };
      const submitting = ask(at, 'POST', `${path}/submit_tool_outputs`, outputs);
      if (expected.status !== 'requires_action') {
        await expect(submitting).rejects.toMatchObject({ code: 'invalid_request' });
        return at;
      }
      await submitting;
      await question(before);
      expected.status = 'in_progress';
      return at;
    }
    case 'cancel': {
      const cancelling = ask(at, 'POST', `${path}/cancel`);
      if (isAsking || expected.status === 'requires_action') {
        await cancelling;
        expected.status = 'cancelled';
      } else await expect(cancelling).rejects.toMatchObject({ code: 'invalid_request' });
      return at;
    }
    case 'die': {
      await at.drivers[Symbol.asyncDispose]();
      const successor = replica();
      expect(await successor.drivers.takeOver()).toBe(isAsking ? 1 : 0);
      if (isAsking) await question(before);
      return successor;
    }
    case 'wait': {
      now += 250_000;
      await at.drivers.renewLeases();
      expected.ageMs += 250_000;
      const isOpen = isAsking || expected.status === 'requires_action';
      if (isOpen && expected.ageMs >= 600_000) expected.status = 'expired';
      return at;
    }
    case 'look':
      return at;
  }
}
