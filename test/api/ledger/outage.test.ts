/** Verifies limits while the database is away: allowances of budgets, shares of rate limits, and processes that are killed. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import { type Limit, LimitReached, LimitsUnknown } from '../../../src/ledger/limit.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../../../src/store/connection/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { MemoryDisk } from '../../support/ledger/memory-stream.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';

let test: TestDatabase;
let disk: MemoryDisk;
let gateways: Gateway[] = [];
const organisationId = randomUUID();

beforeEach(async () => {
  test = await createTestDatabase();
  disk = new MemoryDisk();
});
afterEach(async () => {
  for (const one of gateways) await one.stop();
  gateways = [];
  await test[Symbol.asyncDispose]();
});

/** A process with a connection to the database that can be cut, and lose the answer of a commit. */
class Gateway {
  isAway = false;
  losesNextAnswer = false;
  #isDead = false;
  readonly ledger: Ledger;
  readonly loaded: Promise<void>;

  /** @param gatewaysSeen as in the snapshot */
  constructor(hasJournal = true, gatewaysSeen: number | null = null) {
    const transaction: typeof test.database.transaction = async (run, ...rest) => {
      this.#requireDatabase();
      const result = await test.database.transaction(run, ...rest);
      if (this.#isDead) throw new DatabaseUnavailable('dead');
      if (!this.losesNextAnswer) return result;
      this.losesNextAnswer = false;
      this.isAway = true;
      throw new OutcomeUnknown(new Error('the connection was lost'));
    };
    const gateway = this;
    const database = {
      get db() {
        gateway.#requireDatabase();
        return test.database.db;
      },
      transaction,
    };
    const journal = hasJournal ? disk.open(() => this.#isDead) : null;
    const clock = { now: () => Date.now() };
    this.ledger = createLedger({ database, clock, journal, gatewaysSeen: () => gatewaysSeen });
    this.loaded = this.ledger.settleLeft().catch(() => undefined);
    gateways.push(this);
  }

  #requireDatabase(): void {
    if (this.isAway || this.#isDead) throw new DatabaseUnavailable('away');
  }

  kill(): void {
    this.#isDead = true;
  }

  async stop(): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
  }

  /** Admits a request that reserves so many tokens. */
  async admit(limits: readonly Limit[], tokens: number) {
    await this.loaded;
    const account = this.ledger.open();
    await account.admit(limits, {
      inputTokens: tokens,
      likelyInputTokens: tokens,
      outputTokens: 0,
      outputTokensMin: 0,
      price: null,
    });
    return account;
  }

  async use(limits: readonly Limit[], tokens: number, usedTokens = tokens): Promise<void> {
    const account = await this.admit(limits, tokens);
    account.settle(usageOf(usedTokens));
  }

  /** Number of requests of this size that are admitted before the first refusal. */
  async useUp(limits: readonly Limit[], tokens: number): Promise<number> {
    for (let admitted = 0; ; admitted += 1) {
      try {
        await this.use(limits, tokens);
      } catch (error) {
        if (error instanceof LimitsUnknown || error instanceof LimitReached) return admitted;
        throw error;
      }
    }
  }
}

const usageOf = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  costUnits: 0,
});

function budget(fields: Partial<Limit> = {}): Promise<Limit> {
  return insertLimit(test.database.db, organisationId, fields);
}

const counter = async ({ subjectId, isRate }: Limit) => {
  const row = await test.database.db
    .selectFrom(isRate ? 'rate_counters' : 'usage_counters')
    .select(['used_units', 'reserved_units'])
    .where('subject_id', '=', idToBytes(subjectId))
    .executeTakeFirst();
  return row && { used: Number(row.used_units), reserved: Number(row.reserved_units) };
};

describe('a budget without an allowance', () => {
  it('is refused while the database is away, also by a process that starts then', async () => {
    const gateway = new Gateway();
    gateway.isAway = true;
    const limits = [await budget()];
    await expect(gateway.use(limits, 1)).rejects.toThrow(LimitsUnknown);
    await expect(gateway.use(limits, 1)).rejects.toThrow(LimitsUnknown);
    gateway.isAway = false;
    await eventually(() => gateway.use(limits, 1));
  });
});

describe('a budget with an allowance', () => {
  it('is used up to that amount by each process, and charged once when the database is back', async () => {
    const limits = [await budget({ outageUnits: 100 })];
    const pair = [new Gateway(), new Gateway()];
    for (const one of pair) {
      one.isAway = true;
      expect(await one.useUp(limits, 30)).toBe(3);
    }
    for (const one of pair) one.isAway = false;
    await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used: 180 }));
    for (const one of pair) await one.stop();
    expect(await counter(limits[0]!)).toEqual({ used: 180, reserved: 0 });
  });

  it('is not overdrawn again after an outage in which it was overdrawn beyond the limit', async () => {
    const limits = [await budget({ limitUnits: 100, outageUnits: 50 })];
    const gateway = new Gateway();
    await gateway.use(limits, 10);
    gateway.isAway = true;
    const admitted = await gateway.useUp(limits, 10);
    gateway.isAway = false;
    await eventually(async () => {
      expect(await counter(limits[0]!)).toMatchObject({ used: 10 + 10 * admitted });
    });
    const more = await gateway.useUp(limits, 10);
    expect(1 + admitted + more).toBe(10);
    gateway.isAway = true;
    expect(await gateway.useUp(limits, 10)).toBe(0);
  });

  it.each(['stopped', 'killed'])(
    'is not overdrawn again in a second outage by a process that follows a %s one',
    async (end) => {
      const limits = [await budget({ limitUnits: 100, outageUnits: 50 })];
      const [first, other] = [new Gateway(), new Gateway()];
      await first.use(limits, 10);
      for (let at = 0; at < 8; at += 1) await other.use(limits, 10);
      await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used: 90 }));
      first.isAway = true;
      const admitted = 10 * (await first.useUp(limits, 10));
      expect(admitted).toBeGreaterThan(10);
      first.isAway = false;
      const used = 90 + admitted;
      await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used }));
      if (end === 'stopped') await first.stop();
      first.kill();
      // The second one sees nothing of the budget, the third one starts in the outage.
      const second = new Gateway();
      await eventually(() => second.ledger.settleLeft());
      await second.stop();
      second.kill();
      const third = new Gateway();
      third.isAway = true;
      const drawn = 10 * (await third.useUp(limits, 10));
      expect(used + drawn).toBeLessThanOrEqual(150);
    },
  );

  it('is refused without a journal', async () => {
    const limits = [await budget({ outageUnits: 100 })];
    const gateway = new Gateway(false);
    gateway.isAway = true;
    await expect(gateway.use(limits, 1)).rejects.toMatchObject({
      hint: expect.stringContaining('GATEWRIGHT_SPOOL_DIRECTORY'),
    });
  });

  it('is charged once when the answer of the exchange that reports it is lost and the process is killed', async () => {
    const limits = [await budget({ outageUnits: 100 })];
    const first = new Gateway();
    first.isAway = true;
    await first.use(limits, 30);
    first.losesNextAnswer = true;
    first.isAway = false;
    await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used: 30 }));
    first.kill();
    const second = new Gateway();
    await second.ledger.settleLeft();
    expect(await counter(limits[0]!)).toMatchObject({ used: 30 });
  });

  it('is charged once when the process is killed in the outage, with running requests in full', async () => {
    const limits = [await budget({ outageUnits: 100 })];
    const first = new Gateway();
    first.isAway = true;
    await first.use(limits, 30, 20);
    await first.admit(limits, 40);
    first.kill();
    const second = new Gateway();
    second.isAway = true;
    const admitted = await second.useUp(limits, 20);
    expect(60 + 20 * admitted).toBeLessThanOrEqual(100);
    second.isAway = false;
    const of = async () => (await counter(limits[0]!))?.used ?? 0;
    await eventually(async () => expect(await of()).toBeGreaterThanOrEqual(60));
    await second.stop();
    expect(await of()).toBeLessThanOrEqual(100);
    const third = new Gateway();
    await third.use(limits, 1);
    await third.stop();
    const { used_units: used, assumed_units: assumed } = await test.database.db
      .selectFrom('usage_counters')
      .select(['used_units', 'assumed_units'])
      .executeTakeFirstOrThrow();
    expect([Number(used), Number(assumed)]).toEqual([61 + 20 * admitted, 40]);
  });
});

it('charges usage under soft limits that a killed process had not reported, once', async () => {
  const limits = [await budget({ isHard: false })];
  const first = new Gateway();
  await first.use(limits, 5);
  await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used: 5 }));
  first.isAway = true;
  await first.use(limits, 7);
  await eventually(() => expect(disk.bytes).toContain('"after":7'));
  first.kill();
  for (const _ of [1, 2]) await new Gateway().ledger.settleLeft();
  expect(await counter(limits[0]!)).toMatchObject({ used: 12 });
});

describe('a rate limit', () => {
  const terms = { isRate: true, type: 'requests', valueKey: 'requests rpm' } as const;

  it('is divided by the processes seen last, and counted once when the database is back', async () => {
    const limits = [await budget({ ...terms, limitUnits: 1_000, endsAt: Date.now() + 3_600_000 })];
    const pair = [new Gateway(), new Gateway()];
    let total = 0;
    await eventually(async () => {
      for (const one of pair) {
        await one.use(limits, 1);
        total += 1;
      }
      for (const one of pair) expect(one.ledger.holders(organisationId)).toBe(2);
    });
    for (const one of pair) one.isAway = true;
    for (const one of pair) total += await one.useUp(limits, 1);
    // Each knows the usage of the other only as of its own last exchange.
    expect(total).toBeLessThanOrEqual(1_100);
    expect(total).toBeGreaterThan(500);
    for (const one of pair) one.isAway = false;
    await eventually(async () => expect(await counter(limits[0]!)).toMatchObject({ used: total }));
  });

  it('admits all of a small limit in all processes together, and no more', async () => {
    const pair = [new Gateway(), new Gateway()];
    const other = [await budget({ limitUnits: 1_000 })];
    await eventually(async () => {
      for (const one of pair) await one.use(other, 1);
      for (const one of pair) expect(one.ledger.holders(organisationId)).toBe(2);
    });
    for (const one of pair) one.isAway = true;
    for (const limitUnits of [1, 3]) {
      const limits = [await budget({ ...terms, limitUnits, endsAt: Date.now() + 3_600_000 })];
      const admitted = [await pair[0]!.useUp(limits, 1), await pair[1]!.useUp(limits, 1)];
      expect(admitted[0]! + admitted[1]!).toBe(limitUnits);
    }
  });

  it('is divided by the processes of the snapshot in a process that starts in the outage', async () => {
    const limits = [await budget({ ...terms, limitUnits: 100, endsAt: Date.now() + 3_600_000 })];
    const gateway = new Gateway(true, 4);
    gateway.isAway = true;
    expect(await gateway.useUp(limits, 1)).toBe(25);
    const alone = new Gateway();
    alone.isAway = true;
    expect(await alone.useUp(limits, 1)).toBe(100);
  });

  it('is exceeded by at most one share for each process that starts in the outage', async () => {
    const limits = [await budget({ ...terms, limitUnits: 100, endsAt: Date.now() + 3_600_000 })];
    const first = new Gateway(true, 4);
    for (let count = 0; count < 40; count += 1) await first.use(limits, 1);
    first.isAway = true;
    expect(await first.useUp(limits, 1)).toBe(60);
    // Its usage is in the database and in its memory only.
    first.kill();
    for (const _ of [1, 2]) {
      const next = new Gateway(true, 4);
      next.isAway = true;
      expect(await next.useUp(limits, 1)).toBe(25);
      next.kill();
    }
  });

  it('shares no more than what its process knows to be left, however often the outage begins', async () => {
    const limits = [await budget({ ...terms, limitUnits: 100, endsAt: Date.now() + 3_600_000 })];
    const gateway = new Gateway(true, 4);
    for (let count = 0; count < 40; count += 1) await gateway.use(limits, 1);
    let admitted = 0;
    for (const _ of [1, 2]) {
      gateway.isAway = true;
      admitted += await gateway.useUp(limits, 1);
      gateway.isAway = false;
      await eventually(async () =>
        expect(await counter(limits[0]!)).toMatchObject({ used: 40 + admitted }),
      );
    }
    expect(admitted).toBe(60);
  });
});
