/**
 * Verifies that limits hold under concurrency: replicas, streams, crashes, lost responses and
 * window changes.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import {
  type Limit,
  LimitReached,
  LimitsUnknown,
  type Usage,
  type UsageBound,
} from '../../../src/ledger/limit.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { openDatabase } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';
import { hangMs } from '../../support/run/common-options.ts';
import { eventually } from '../../support/server/eventually.ts';
import { jobContext } from '../../support/server/job-context.ts';

let test: TestDatabase;
let replicas: Ledger[] = [];
const organisationId = randomUUID();
const clock = { now: () => Date.now() };

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(async () => {
  await stopReplicas();
  await test[Symbol.asyncDispose]();
});

/** Timeouts longer than a busy machine needs for what the tests wait for. */
function startReplicas(count: number): Ledger[] {
  replicas = Array.from({ length: count }, () =>
    createLedger({ database: test.database, clock, waitMs: hangMs }),
  );
  return replicas;
}

async function stopReplicas(): Promise<void> {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
  replicas = [];
}

function limit(fields: Partial<Limit> = {}): Promise<Limit> {
  return insertLimit(test.database.db, organisationId, { label: 'API key test', ...fields });
}

function bound(tokens: number, fields: Partial<UsageBound> = {}): UsageBound {
  const rest = { outputTokens: 0, outputTokensMin: 0, price: null };
  return { inputTokens: tokens, likelyInputTokens: tokens, ...rest, ...fields };
}

const used = (inputTokens: number): Usage => ({
  inputTokens,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  costUnits: 0,
});

const counter = ({ subjectId }: Limit) =>
  test.database.db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units', 'assumed_units'])
    .where('subject_id', '=', idToBytes(subjectId))
    .executeTakeFirst();

const refused = (error: unknown): false => {
  if (error instanceof LimitReached) return false;
  throw error;
};

describe('a request limit', () => {
  it('admits exactly its number of requests across three concurrent replicas, and rejects the rest', async () => {
    const one = await limit({ type: 'requests', limitUnits: 100 });
    const ledgers = startReplicas(3);
    const requestsList = Array.from({ length: 300 }, async (_, at) => {
      const account = ledgers[at % 3]!.open();
      try {
        await account.admit([one], bound(0));
        return true;
      } catch (error) {
        return refused(error);
      }
    });
    const admitted = (await Promise.all(requestsList)).filter(Boolean);
    expect(admitted).toHaveLength(100);
    await stopReplicas();
    expect(await counter(one)).toEqual({ used_units: 100, reserved_units: 0, assumed_units: 0 });
  });

  const Asks = fc.record({
    limitUnits: fc.integer({ min: 1, max: 60 }),
    arrivals: fc.array(fc.record({ replica: fc.nat(2), isSent: fc.boolean() }), { maxLength: 90 }),
  });

  it('counts requests that were sent, never exceeds the limit, and rejects none below it', async () => {
    await fc.assert(
      fc.asyncProperty(Asks, async ({ limitUnits, arrivals }) => {
        const one = await limit({ type: 'requests', limitUnits });
        const ledgers = startReplicas(3);
        const ask = async (replica: number, isSent: boolean): Promise<number> => {
          const account = ledgers[replica]!.open();
          const open = async () => account.admit([one], bound(0));
          if ((await open().catch(refused)) === false) return 0;
          if (isSent) return 1;
          account.uncount();
          return 0;
        };
        const sent = await Promise.all(arrivals.map(({ replica, isSent }) => ask(replica, isSent)));
        let count = sent.reduce((sum, one) => sum + one, 0);
        expect(count).toBeLessThanOrEqual(limitUnits);
        for (; count < limitUnits; count += 1) expect(await ask(0, true)).toBe(1);
        expect(await ask(0, true)).toBe(0);
        await stopReplicas();
        const rest = { reserved_units: 0, assumed_units: 0 };
        expect(await counter(one)).toEqual({ used_units: limitUnits, ...rest });
      }),
      { numRuns: 3 },
    );
  });
});

describe('a soft limit', () => {
  it('counts usage beyond the limit without delaying anyone, also what other replicas used', async () => {
    const one = await limit({ limitUnits: 10, alertThresholdUnits: 5, isHard: false });
    const requests = await limit({ type: 'requests', limitUnits: 1, isHard: false });
    const cost = await limit({ type: 'cost', limitUnits: 1, isHard: false });
    const ledgers = startReplicas(2);
    for (let at = 0; at < 50; at += 1) {
      const account = ledgers[at % 2]!.open();
      expect(account.admit([one, requests, cost], bound(1_000))).not.toBeInstanceOf(Promise);
      account.settle({ ...used(7), costUnits: 3 });
    }
    await stopReplicas();
    const counted = { reserved_units: 0, assumed_units: 0 };
    expect(await counter(one)).toEqual({ used_units: 350, ...counted });
    expect(await counter(requests)).toEqual({ used_units: 50, ...counted });
    expect(await counter(cost)).toEqual({ used_units: 150, ...counted });
    const alerts = await test.database.db.selectFrom('usage_alerts').select('kind').execute();
    expect(alerts.map(({ kind }) => kind).sort()).toEqual([
      'exhausted',
      'exhausted',
      'exhausted',
      'threshold',
    ]);
  });
});

it('rejects nobody when the database takes longer than a request may wait for other replicas', async () => {
  const one = await limit({ type: 'requests', limitUnits: 100_000 });
  const ledger = createLedger({ database: test.database, clock, waitMs: 0 });
  replicas = [ledger];
  for (let round = 0; round < 20; round += 1) {
    const requestsList = Array.from({ length: 5 }, () => ledger.open().admit([one], bound(0)));
    // Some of the next requests arrive while those of this round are open.
    if (round % 2 === 0) await Promise.race(requestsList);
    else await Promise.all(requestsList);
  }
  await stopReplicas();
  expect(await counter(one)).toMatchObject({ used_units: 100, reserved_units: 0 });
});

it('reports that limits are unknown while the database does not respond, and admits again later', async () => {
  const one = await limit({ type: 'requests', limitUnits: 100 });
  const state = { isHanging: true };
  const { promise: mended, resolve: mend } = Promise.withResolvers<void>();
  const transaction: typeof test.database.transaction = async (run, ...rest) => {
    if (state.isHanging) await mended;
    return test.database.transaction(run, ...rest);
  };
  const ledger = createLedger({ database: { db: test.database.db, transaction }, clock });
  replicas = [ledger];
  const ask = async () => ledger.open().admit([one], bound(0));
  await expect(ask()).rejects.toBeInstanceOf(LimitsUnknown);
  state.isHanging = false;
  mend();
  await expect(ask()).resolves.toMatchObject({ outputTokens: 0 });
  await stopReplicas();
}, 5_000);

describe('units that are idle in another process', () => {
  /** A replica whose database exchanges wait until they are released. */
  function slowReplica() {
    const { promise: letGo, resolve: go } = Promise.withResolvers<void>();
    const state = { isHeld: false };
    const transaction: typeof test.database.transaction = async (run, ...rest) => {
      if (state.isHeld) await letGo;
      return test.database.transaction(run, ...rest);
    };
    const ledger = createLedger({ database: { db: test.database.db, transaction }, clock });
    replicas.push(ledger);
    return { ledger, hold: () => (state.isHeld = true), go };
  }

  /** Leases all 1,000 units and releases them in its own memory only. */
  async function holdAllWith({ ledger, hold }: ReturnType<typeof slowReplica>, one: Limit) {
    const account = ledger.open();
    await account.admit([one], bound(1_000));
    hold();
    account.release();
  }

  /**
   * A replica that counts its exchanges and waits one millisecond, or `lateMs` for replicas that do
   * not respond.
   */
  function asker(lateMs: number) {
    const expected = { exchanges: 0 };
    const transaction: typeof test.database.transaction = (run, ...rest) => {
      expected.exchanges += 1;
      return test.database.transaction(run, ...rest);
    };
    const database = { db: test.database.db, transaction };
    const ledger = createLedger({ database, clock, waitMs: 1, lateMs });
    replicas.push(ledger);
    return { ledger, counts: expected };
  }

  it('is awaited until the other process has said that it holds none, however long that takes', async () => {
    const one = await limit();
    const slow = slowReplica();
    await holdAllWith(slow, one);
    const { ledger, counts: reported } = asker(hangMs);
    const requested = ledger.open().admit([one], bound(500));
    await eventually(() => expect(reported.exchanges).toBeGreaterThan(3));
    slow.go();
    expect(await requested).toMatchObject({ outputTokens: 0 });
  });

  it('is not awaited forever', async () => {
    const one = await limit();
    const slow = slowReplica();
    await holdAllWith(slow, one);
    const { ledger } = asker(50);
    await expect((async () => ledger.open().admit([one], bound(500)))()).rejects.toThrow(
      LimitReached,
    );
    slow.go();
  });

  it('is not awaited when the other process has said that it holds none', async () => {
    const one = await limit();
    const other = slowReplica();
    await other.ledger.open().admit([one], bound(1_000));
    const { ledger } = asker(hangMs);
    await expect((async () => ledger.open().admit([one], bound(500)))()).rejects.toThrow(
      LimitReached,
    );
  });
});

it('is shared under several limits without rejecting anyone, although some limits are short at first', async () => {
  const limits = [
    await limit({ limitUnits: 1_000_000 }),
    await limit({ type: 'requests', limitUnits: 1_000_000 }),
  ];
  const [ledger] = startReplicas(1);
  // Each request uses less than its reservation, so the next ones find tokens left but no request.
  for (let round = 0; round < 4; round += 1) {
    const accounts = Array.from({ length: 20 }, () => ledger!.open());
    await Promise.all(accounts.map((account) => account.admit(limits, bound(100))));
    for (const account of accounts) account.settle(used(40));
  }
  await stopReplicas();
  expect(await counter(limits[0]!)).toMatchObject({ used_units: 3_200, reserved_units: 0 });
  expect(await counter(limits[1]!)).toMatchObject({ used_units: 80, reserved_units: 0 });
});

describe('a token limit', () => {
  const Requests = fc.array(
    fc.record({ requested: fc.nat(40), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    { minLength: 50, maxLength: 150 },
  );

  it('is never exceeded whatever requests reserve and use, and can be used up completely', async () => {
    await fc.assert(
      fc.asyncProperty(Requests, async (requests) => {
        const one = await limit();
        const ledgers = startReplicas(3);
        const uses = requests.map(async ({ requested, share }, at) => {
          const account = ledgers[at % 3]!.open();
          const grant = await Promise.resolve(account.admit([one], bound(requested))).catch(
            refused,
          );
          const tokens = grant === false ? 0 : Math.floor(requested * share);
          account.settle(used(tokens));
          return tokens;
        });
        const total = (await Promise.all(uses)).reduce((sum, tokens) => sum + tokens, 0);
        expect(total).toBeLessThanOrEqual(1_000);
        const [ledger] = ledgers;
        const last = ledger!.open();
        await last.admit([one], bound(1_000 - total));
        last.settle(used(1_000 - total));
        await expect((async () => ledger!.open().admit([one], bound(1)))()).rejects.toThrow(
          LimitReached,
        );
        await stopReplicas();
        expect(await counter(one)).toEqual({
          used_units: 1_000,
          reserved_units: 0,
          assumed_units: 0,
        });
      }),
      { numRuns: 4 },
    );
  });

  it('shortens the output of a request to what is left when the caller accepts that', async () => {
    const one = await limit();
    const [ledger] = startReplicas(1);
    const account = ledger!.open();
    const cut = { outputTokens: 4_000, outputTokensMin: 16 };
    const grant = await account.admit([one], bound(900, cut));
    expect(grant.outputTokens).toBe(100);
    account.settle(used(990));
    const none = (async () => ledger!.open().admit([one], bound(1, cut)))();
    await expect(none).rejects.toThrow(LimitReached);
  });

  it('admits a request that fits although a larger one is waiting', async () => {
    const one = await limit();
    const [ledger, other] = startReplicas(2);
    const open = other!.open();
    await open.admit([one], bound(900));
    const large = Promise.resolve(ledger!.open().admit([one], bound(200)));
    await ledger!.open().admit([one], bound(50));
    open.release();
    expect(await large).toMatchObject({ outputTokens: 0 });
  });

  it('is charged with usage beyond its slices when the slices are lost', async () => {
    const one = await limit({ isHard: false });
    const [ledger] = startReplicas(1);
    const use = async (tokens: number): Promise<void> => {
      const account = ledger!.open();
      await account.admit([one], bound(0));
      account.settle(used(tokens));
    };
    await use(5);
    await eventually(async () => expect(await counter(one)).toMatchObject({ used_units: 5 }));
    await test.database.db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
    await chargeLostSlices().run(jobContext(test.database, 0));
    await use(7);
    await eventually(async () => expect(await counter(one)).toMatchObject({ used_units: 12 }));
  });

  it('is exceeded by concurrent requests when nothing is reserved: checking before and counting after does not suffice', async () => {
    const one = await limit({ isHard: false });
    const [ledger] = startReplicas(1);
    const accounts = Array.from({ length: 30 }, () => ledger!.open());
    await Promise.all(accounts.map((account) => account.admit([one], bound(100))));
    for (const account of accounts) account.settle(used(100));
    await stopReplicas();
    expect(await counter(one)).toMatchObject({ used_units: 3_000 });
  });

  it('charges usage beyond the reservation', async () => {
    const one = await limit();
    const [ledger] = startReplicas(1);
    const account = ledger!.open();
    await account.admit([one], bound(10));
    account.settle(used(2_000));
    await ledger![Symbol.asyncDispose]();
    expect(await counter(one)).toEqual({ used_units: 2_000, reserved_units: 0, assumed_units: 0 });
  });

  it('charges everything that dead replicas held, once, by any of three processes, and leaves nothing reserved', async () => {
    const one = await limit();
    await using processes = new AsyncDisposableStack();
    const dead = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const database = openDatabase(test.settings);
        const ledger = createLedger({ database, clock, waitMs: hangMs });
        await ledger.open().admit([one], bound(100));
        await database[Symbol.asyncDispose]();
        return ledger;
      }),
    );
    await test.database.db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
    const living = [1, 2, 3].map(() => processes.use(openDatabase(test.settings)));
    const runs = await Promise.all(
      living.map((database) => chargeLostSlices().run(jobContext(database, 0))),
    );
    const total = (name: string) => runs.reduce((sum, counts) => sum + counts[name]!, 0);
    expect([total('holders'), total('slices')]).toEqual([5, 5]);
    expect(await counter(one)).toEqual({ used_units: 500, reserved_units: 0, assumed_units: 500 });
    for (const ledger of dead) await ledger[Symbol.asyncDispose]();
  });

  const Endings = fc.array(
    fc.record({
      tokens: fc.nat(50),
      endings: fc.array(fc.record({ isUsed: fc.boolean(), at: fc.nat(100) }), { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 40 },
  );

  it('charges each request once, at its first end, however often and in whatever order requests end', async () => {
    await fc.assert(
      fc.asyncProperty(Endings, async (requests) => {
        const one = await limit({ limitUnits: 100_000 });
        const ledgers = startReplicas(2);
        const accounts = requests.map((_, at) => ledgers[at % 2]!.open());
        await Promise.all(accounts.map((account) => account.admit([one], bound(50))));
        const ends = requests.flatMap(({ tokens, endings }, request) =>
          endings.map((ending) => ({ ...ending, tokens, request })),
        );
        const charged = new Map<number, number>();
        for (const { isUsed, tokens, request } of ends.toSorted((a, b) => a.at - b.at)) {
          if (isUsed) accounts[request]!.settle(used(tokens));
          else accounts[request]!.release();
          if (!charged.has(request)) charged.set(request, isUsed ? tokens : 0);
        }
        const total = [...charged.values()].reduce((sum, tokens) => sum + tokens, 0);
        await stopReplicas();
        const rest = { reserved_units: 0, assumed_units: 0 };
        expect(await counter(one)).toEqual({ used_units: total, ...rest });
      }),
      { numRuns: 3 },
    );
  });

  const Terms = fc.array(
    fc.record({
      limitUnits: fc.integer({ min: 1, max: 90 }),
      requested: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
    }),
    { minLength: 2, maxLength: 8 },
  );

  it('admits what fits after it is lowered or raised, and keeps the usage', async () => {
    await fc.assert(
      fc.asyncProperty(Terms, async (terms) => {
        const one = await limit();
        const [ledger] = startReplicas(1);
        let total = 0;
        for (const { limitUnits, requested } of terms) {
          const now = { ...one, limitUnits };
          for (const tokens of requested) {
            const account = ledger!.open();
            const grant = await (async () => account.admit([now], bound(tokens)))().catch(refused);
            expect(grant !== false).toBe(total + tokens <= limitUnits);
            if (grant === false) continue;
            account.settle(used(tokens));
            total += tokens;
          }
        }
        await stopReplicas();
        const found = await counter(one);
        expect(found?.used_units ?? 0).toBe(total);
        expect(found?.reserved_units ?? 0).toBe(0);
      }),
      { numRuns: 3 },
    );
  });
});
