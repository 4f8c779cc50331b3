/** Verifies that exactly one builder has an effect, however many run, and wherever one ends. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDeploymentKey, rotateMasterKey } from '../../../src/auth/data-keys.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { masterKeysOf } from '../../support/server/server.ts';
import { expectEqualRows } from '../../support/snapshot/expect-equal-rows.ts';
import {
  insertOrganisation,
  insertRows,
  touchMarks,
} from '../../support/snapshot/generated-rows.ts';
import { buildAll, builderOn, readerOn, testMasterKeys } from '../../support/snapshot/snapshots.ts';

let test: TestDatabase;
let db: Db;
beforeEach(async () => {
  test = await createTestDatabase({ breaksRules: true });
  db = test.database.db;
  await openDeploymentKey(db, testMasterKeys());
});
afterEach(() => test[Symbol.asyncDispose]());

async function addOrganisation(keys = 2): Promise<string> {
  const id = await insertOrganisation(db);
  await change(id, keys);
  return id;
}

/** Replaces the keys, workspaces and users of an organisation. */
async function change(id: string, keys = 2): Promise<void> {
  for (const table of ['api_keys', 'api_key_hashes', 'workspaces', 'users'] as const) {
    await insertRows(db, table, id, keys);
  }
  await test.database.transaction(async (tx) => touchMarks(tx, id));
}

/** Ends a run after its nth statement: the statement has taken effect, and nothing follows. */
async function endAfter(statements: number, run: (on: Db) => Promise<void>): Promise<boolean> {
  let count = 0;
  const ended = new Error('the process has ended');
  const stepwise = db.withPlugin({
    transformQuery: ({ node }) => {
      if (count >= statements) throw ended;
      return node;
    },
    transformResult: async ({ result }) => {
      count += 1;
      if (count >= statements) throw ended;
      return result;
    },
  });
  try {
    await run(stepwise);
    return false;
  } catch (error) {
    if (error !== ended) throw error;
    return true;
  }
}

const headRow = () =>
  db.selectFrom('snapshot_heads').select(['sequence', 'etag']).executeTakeFirstOrThrow();
const endLease = () => db.updateTable('snapshot_heads').set({ lease_until: 0 }).execute();

/** A reader without any earlier state sees the rows of the database. */
async function expectPublished(ids: readonly string[], isCurrent = true): Promise<void> {
  using held = readerOn(db);
  await held.reader.pull();
  expect(held.reader.isCurrent()).toBe(isCurrent);
  expect(held.reader.view()!.isWhole).toBe(true);
  await expectEqualRows(db, held.reader.view()!, [...ids]);
}

describe('a builder', () => {
  it('stores only the parts that a change touches', async () => {
    const ids = [await addOrganisation(), await addOrganisation(1_500)];
    const builder = builderOn(db);
    await buildAll(builder);
    await expectPublished(ids);
    const stored = async () => {
      const { rows } = await sql<{ etag: string }>`
        SELECT HEX(etag) AS etag FROM snapshot_parts WHERE organisation_id <> ''`.execute(db);
      return new Set(rows.map(({ etag }) => etag));
    };
    const before = await stored();
    await sql`UPDATE api_keys SET name = 'changed' WHERE organisation_id = ${ids[1]} LIMIT 1`.execute(
      db,
    );
    await test.database.transaction(async (tx) => touchMarks(tx, ids[1]!));
    await buildAll(builder);
    // One part of the keys, and the manifest.
    expect((await stored()).difference(before).size).toBe(2);
    await expectPublished(ids);
  });

  it('publishes nothing when nothing has changed, with one query', async () => {
    await addOrganisation();
    const builder = builderOn(db);
    await buildAll(builder);
    const { sequence } = await headRow();
    const sent: string[] = [];
    const counted = db.withPlugin({
      transformQuery: ({ node }) => {
        sent.push(node.kind);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const idle = builderOn(counted);
    await idle.step();
    sent.length = 0;
    expect(await idle.step()).toEqual({ state: 'idle', changed: 0, hasMore: false });
    expect(sent).toHaveLength(1);
    expect((await headRow()).sequence).toBe(sequence);
  });

  it('replaces the head of an unchanged snapshot in time, so that its age is known', async () => {
    await addOrganisation();
    const builder = builderOn(db, { touchMs: 0 });
    await builder.step();
    const { sequence } = await headRow();
    await builder.step();
    expect((await headRow()).sequence).toBe(sequence + 1);
  });

  it('builds organisations without marks, and leaves out those whose row is gone', async () => {
    const id = await insertOrganisation(db);
    const builder = builderOn(db);
    await buildAll(builder);
    using held = readerOn(db);
    await held.reader.pull();
    expect([...held.reader.view()!.organisationIds()]).toEqual([id]);
    await sql`DELETE FROM organisations WHERE id = ${id}`.execute(db);
    await test.database.transaction(async (tx) => touchMarks(tx, id));
    await buildAll(builder);
    await held.reader.pull();
    expect([...held.reader.view()!.organisationIds()]).toEqual([]);
  });

  it('divides the list of organisations into more pages as they grow', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 150; at += 1) ids.push(await insertOrganisation(db));
    const builder = builderOn(db);
    using held = readerOn(db);
    await builder.step();
    await held.reader.pull();
    await buildAll(builder);
    await held.reader.pull();
    expect([...held.reader.view()!.organisationIds()].toSorted()).toEqual(ids.toSorted());
  });
});

describe('a builder that ends at any statement', () => {
  it('leaves the published snapshot whole, and the next one completes its work', async () => {
    const ids = [await addOrganisation(), await addOrganisation()];
    await buildAll(builderOn(db));
    let deaths = 0;
    for (;;) {
      await change(ids[deaths % 2]!);
      await endLease();
      const hasEnded = await endAfter(deaths + 1, (on) =>
        buildAll(builderOn(on, { holder: `dead-${deaths}` })),
      );
      using held = readerOn(db);
      await held.reader.pull();
      expect(held.reader.view()!.isWhole).toBe(true);
      await endLease();
      await buildAll(builderOn(db, { holder: `next-${deaths}` }));
      await expectPublished(ids);
      if (!hasEnded) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(20);
  });

  it('leaves garbage that is deleted after the grace period, and nothing that is named', async () => {
    const ids = [await addOrganisation(), await addOrganisation()];
    for (let deaths = 0; ; deaths += 1) {
      await change(ids[deaths % 2]!);
      await endLease();
      const hasEnded = await endAfter(deaths + 1, (on) =>
        buildAll(builderOn(on, { holder: `dead-${deaths}` })),
      );
      if (!hasEnded) break;
    }
    await endLease();
    const last = builderOn(db, { holder: 'last' });
    await buildAll(last);
    await db
      .updateTable('snapshot_parts')
      .set({ garbage_after: 1 })
      .where('garbage_after', 'is not', null)
      .execute();
    await last.maintain();
    await expectPublished(ids);
    const { rows } = await sql<{ total: number }>`
      SELECT COUNT(*) AS total FROM snapshot_parts`.execute(db);
    using held = readerOn(db);
    await held.reader.pull();
    const named = [...ids].flatMap((id) => held.reader.objectEtags(id)).length;
    // One page of organisations.
    expect(Number(rows[0]!.total)).toBe(named + 1);
  });
});

describe('a builder among many', () => {
  it('publishes each change once', async () => {
    const ids = [await addOrganisation(), await addOrganisation(), await addOrganisation()];
    const builders = Array.from({ length: 100 }, (_, at) =>
      builderOn(db, { holder: `builder-${at}` }),
    );
    for (let round = 0; round < 3; round += 1) {
      await change(ids[round]!);
      const before = (await headRow().catch(() => ({ sequence: 0 }))).sequence;
      const steps = await Promise.all(builders.map((builder) => builder.step()));
      expect(steps.filter(({ state }) => state === 'built')).toHaveLength(1);
      expect(steps.filter(({ state }) => state === 'waiting')).toHaveLength(99);
      expect((await headRow()).sequence).toBe(before + 1);
    }
    await expectPublished(ids);
  });

  it('changes nothing after it was replaced', async () => {
    const ids = [await addOrganisation(), await addOrganisation()];
    const first = builderOn(db, { holder: 'first' });
    await buildAll(first);
    for (let round = 0; round < 5; round += 1) {
      await change(ids[round % 2]!);
      await endLease();
      const second = builderOn(db, { holder: randomUUID() });
      await buildAll(second);
      const published = await headRow();
      await change(ids[(round + 1) % 2]!);
      expect((await first.step()).state).toBe(round === 0 ? 'lost' : 'waiting');
      expect(await headRow()).toEqual(published);
      await buildAll(second);
      await expectPublished(ids);
    }
  });
});

describe('a rotation of the master key', () => {
  it('reaches the snapshot without any part being sealed again', async () => {
    const ids = [await addOrganisation(), await addOrganisation()];
    await buildAll(builderOn(db));
    const etags = async () =>
      (
        await db
          .selectFrom('snapshot_parts')
          .select('etag')
          .where('organisation_id', '<>', '')
          .execute()
      )
        .map(({ etag }) => etag.toString('hex'))
        .toSorted();
    const before = await etags();
    const both = createMasterKeys(masterKeysOf(8, 7));
    const builder = builderOn(db, { masterKeys: both });
    await builder.step();
    await rotateMasterKey(db, both, { onProgress: () => {}, signal: new AbortController().signal });
    await builder.maintain();
    using held = readerOn(db, { masterKeys: createMasterKeys(masterKeysOf(8)) });
    await held.reader.pull();
    await expectEqualRows(db, held.reader.view()!, ids);
    expect(await etags()).toEqual(before);
    expect(held.refused).toEqual([]);
  });
});

it('tells how many gateways share the limits of an organisation at most', async () => {
  const lease = (organisationId: string, endsInMs: number) =>
    sql`INSERT INTO usage_holders (organisation_id, holder, sequence, lease_until)
      VALUES (${organisationId}, RANDOM_BYTES(16), 1, ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) + ${endsInMs})`.execute(
      db,
    );
  const [one, other] = [await addOrganisation(), await addOrganisation()];
  for (const endsInMs of [60_000, 60_000, -60_000]) await lease(one, endsInMs);
  await lease(other, 60_000);
  await buildAll(builderOn(db));
  using held = readerOn(db);
  await held.reader.pull();
  expect(held.reader.view()!.gateways).toBe(2);
});
