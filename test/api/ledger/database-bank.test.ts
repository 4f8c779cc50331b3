/** Verifies that exchanges with the database are carried out once, and how long dead processes keep their slices. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import type { BankRequest } from '../../../src/ledger/limit-bank.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { OutcomeUnknown } from '../../../src/store/connection/unavailable.ts';
import type { SliceMove } from '../../../src/store/usage/slice-moves.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertBudget } from '../../support/rows/usage-rows.ts';
import { jobContext } from '../../support/server/job-context.ts';

let test: TestDatabase;
let bank: DatabaseBank;
let holder: BankRequest['holder'];
const organisationId = randomUUID();
let subjectId: Buffer;

beforeEach(async () => {
  test = await createTestDatabase();
  const { id } = await insertBudget(test.database.db, organisationId);
  subjectId = idToBytes(id);
  bank = newBank();
  holder = { organisationId, holder: randomBytes(16) };
});
afterEach(() => test[Symbol.asyncDispose]());

function newBank(
  database: ConstructorParameters<typeof DatabaseBank>[0]['database'] = test.database,
) {
  return new DatabaseBank({ database, now: () => 0 });
}

function move(fields: Partial<SliceMove>): SliceMove {
  return {
    counter: {
      isRate: false,
      subjectKind: 'api_key',
      subjectId,
      windowStart: 0,
      id: subjectId,
      valueKey: '',
      endsAt: null,
    },
    isNew: true,
    units: 0,
    spent: 0,
    offered: 0,
    needs: [],
    want: 0,
    isAnswer: false,
    leaseMs: null,
    refusedUnits: null,
    limitUnits: 1_000,
    alertThresholdUnits: null,
    type: 'tokens',
    label: 'API key ci',
    ...fields,
  };
}

function request(sequence: number, fields: Partial<BankRequest> = {}): BankRequest {
  const flags = { listsHeld: false, countsHolders: false, keepsAnswer: false };
  return { holder, sequence, moves: [], ...flags, ...fields };
}

const taking = (units: number, leaseMs: number | null = null) =>
  move({ needs: [{ units, unitsMin: units }], leaseMs });

const counter = () =>
  test.database.db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units', 'assumed_units'])
    .executeTakeFirst();

describe('an exchange', () => {
  it('is carried out once when its answer was lost and it is repeated', async () => {
    const lost = { isNext: true };
    const transaction: typeof test.database.transaction = async (run, ...rest) => {
      const result = await test.database.transaction(run, ...rest);
      if (!lost.isNext) return result;
      lost.isNext = false;
      throw new OutcomeUnknown(new Error('the connection was lost'));
    };
    bank = newBank({ db: test.database.db, transaction });
    await expect(bank.exchange(request(0, { moves: [taking(100)] }))).rejects.toThrow(
      OutcomeUnknown,
    );
    const answer = await bank.exchange(request(0, { moves: [taking(100)] }));
    expect(answer!.outcomes).toMatchObject([{ granted: 100, usedUnits: 0, reservedUnits: 100 }]);
    expect(await counter()).toMatchObject({ used_units: 0, reserved_units: 100 });
  });

  it('is carried out once when it keeps its answer and is repeated with another bank', async () => {
    const first = request(0, { moves: [taking(100)], keepsAnswer: true, countsHolders: true });
    const answer = await bank.exchange(first);
    expect(await newBank().exchange(first)).toEqual(answer);
    const spending = move({ isNew: false, units: 100, spent: 40, offered: 60 });
    const second = request(1, { moves: [spending], keepsAnswer: true, listsHeld: true });
    const next = await newBank().exchange(second);
    expect(await bank.exchange(second)).toEqual(next);
    expect(JSON.parse(JSON.stringify(next))).toEqual(next);
    expect(await counter()).toMatchObject({ used_units: 40, reserved_units: 0 });
  });

  it('counts the holders that have a lease', async () => {
    for (const sequence of [0, 1]) await bank.exchange(request(sequence));
    const other = { organisationId, holder: randomBytes(16) };
    const answer = await bank.exchange({ ...request(0, { countsHolders: true }), holder: other });
    expect(answer!.holders).toBe(2);
    await test.database.db
      .updateTable('usage_holders')
      .set({ lease_until: 0 })
      .where('holder', '=', holder.holder)
      .execute();
    const next = await bank.exchange({ ...request(1, { countsHolders: true }), holder: other });
    expect(next!.holders).toBe(1);
  });
});

it('closes a holder once, however often it is called', async () => {
  await bank.exchange(request(0, { moves: [taking(100)] }));
  await bank.close(holder);
  await bank.close(holder);
  expect(await counter()).toEqual({ used_units: 100, reserved_units: 0, assumed_units: 100 });
});

describe('the slice of a dead process', () => {
  const die = () => test.database.db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
  const chargeLost = () => chargeLostSlices().run(jobContext(test.database, 0));

  it('is charged with the lease of the process near the limit, and with its own lease far from it', async () => {
    const far = { ...taking(200, 600_000), counter: { ...taking(0).counter, windowStart: 1 } };
    await bank.exchange(request(0, { moves: [taking(100), far] }));
    await die();
    expect(await chargeLost()).toMatchObject({ holders: 1, slices: 1 });
    expect(await chargeLost()).toMatchObject({ holders: 0, slices: 0 });
    const counters = await test.database.db
      .selectFrom('usage_counters')
      .select(['used_units', 'reserved_units', 'assumed_units'])
      .orderBy('window_start')
      .execute();
    expect(counters).toEqual([
      { used_units: 100, reserved_units: 0, assumed_units: 100 },
      { used_units: 0, reserved_units: 200, assumed_units: 0 },
    ]);
    const answer = await bank.exchange(request(1, { listsHeld: true }));
    expect(answer!.held).toHaveLength(1);
    await die();
    await test.database.db.updateTable('usage_slices').set({ lease_until: 1 }).execute();
    expect(await chargeLost()).toMatchObject({ holders: 1, slices: 1 });
    expect(await bank.exchange(request(2))).toBeNull();
  });
});
