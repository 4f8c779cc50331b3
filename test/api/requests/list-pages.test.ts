/**
 * Verifies that every page of a list costs the same, and that cached positions never return stale
 * rows.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '../../../src/model/wire/ids.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import * as apiKeys from '../../../src/store/resources/api-keys.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow } from '../../support/rows/api-key-row.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
});
afterAll(() => test[Symbol.asyncDispose]());

const limit = 100;

/** Inserts rows without the program, like a restored table. */
async function load(organisation_id: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, () => apiKeyRow({ organisation_id, id: newId() }));
  for (let at = 0; at < count; at += 1000) {
    const some = rows.slice(at, at + 1000);
    await test.database.db.insertInto('api_keys').values(some).execute();
  }
}

// A proxy in front of shards does not count the rows that its session has read.
describe.skipIf(inject('databaseServer').keyspaces !== undefined)('a page', () => {
  let one: Database;
  beforeAll(() => {
    one = openDatabase({ ...test.settings, poolSize: 1 });
  });
  afterAll(() => one[Symbol.asyncDispose]());

  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    const sum = async () => {
      const read = sql<{ Value: string }>`show session status like 'Handler_read%'`;
      const { rows } = await read.execute(one.db);
      return rows.reduce((all, { Value: value }) => all + Number(value), 0);
    };
    const [start, before] = [await sum(), await sum()];
    await work();
    return (await sum()) - before - (before - start);
  }

  it('reads the same number of rows at any position of a list of any length', async () => {
    const costs = new Map<number, number>();
    const organisation = randomUUID();
    for (const [more, all] of [
      [1_000, 1_000],
      [19_000, 20_000],
    ] as const) {
      await load(organisation, more);
      // An engine without current statistics may choose another index, and sort.
      await sql`analyze table api_keys`.execute(one.db);
      const pageAt = async (offset: number) => {
        const page = { limit, offset };
        const { ids, rows, total } = await apiKeys.list(one.db, organisation, {}, page);
        expect([total, (await Array.fromAsync(rows)).length]).toEqual([all, ids.length]);
      };
      const offsets = [0, all / 2, all - limit];
      for (const offset of offsets) await pageAt(offset);
      const reads: number[] = [];
      for (const offset of offsets) reads.push(await rowsRead(() => pageAt(offset)));
      // From one page to the next, as clients that read all of them do.
      for (let page = 100; page < 110; page += 1) await pageAt((page * limit) % all);
      reads.push(await rowsRead(() => pageAt((110 * limit) % all)));
      costs.set(all, Math.max(...reads));
    }
    // The page, twice when it is measured first, and no more than the page.
    expect(costs.get(20_000)).toBeLessThan(3 * limit);
    expect(costs.get(20_000)! / costs.get(1_000)!).toBeLessThan(1.5);
  });
});

describe('two servers with cached positions', () => {
  let others: Database[];
  beforeAll(() => {
    others = [0, 1].map(() => openDatabase(test.settings));
  });
  afterAll(() => Promise.all(others.map((other) => other[Symbol.asyncDispose]())));

  const workspaces = [null, randomUUID(), randomUUID()];

  /** Creates, moves or deletes a few rows through the program, which marks the change. */
  async function change(
    database: Database,
    organisation_id: string,
    known: Map<string, string | null>,
  ) {
    const ids = [...known.keys()];
    await database.transaction(async (tx) => {
      for (let at = randomInt(1, 4); at > 0; at -= 1) {
        const workspace_id = workspaces[randomInt(3)]!;
        const id = ids[randomInt(ids.length + 1)];
        if (id === undefined || !known.has(id) || randomInt(3) === 0) {
          const row = apiKeyRow({ organisation_id, id: newId(), workspace_id });
          const value = { hash: Buffer.from(row.id.replaceAll('-', '')), pepper_id: 'test' };
          await apiKeys.insert(tx, { ...row, ...value });
          known.set(row.id, workspace_id);
        } else if (randomInt(2) === 0) {
          await apiKeys.deleteById(tx, organisation_id, id);
          known.delete(id);
        } else {
          await apiKeys.update(tx, organisation_id, id, { workspace_id });
          known.set(id, workspace_id);
        }
      }
    });
  }

  it('returns the current list after every change of either, page by page and with filters', async () => {
    const organisation = randomUUID();
    const known = new Map<string, string | null>();
    await load(organisation, 900);
    const { ids } = await apiKeys.list(others[0]!.db, organisation, {}, { limit: 1000, offset: 0 });
    for (const id of ids) known.set(id, null);
    for (let round = 0; round < 150; round += 1) {
      if (round % 3 === 0) await change(others[randomInt(2)]!, organisation, known);
      const workspaceId = workspaces[randomInt(3)] ?? undefined;
      const expected = [...known]
        .filter(([, of]) => workspaceId === undefined || of === workspaceId)
        .map(([id]) => id)
        .toSorted()
        .toReversed();
      const size = randomInt(1, 120);
      const page = { limit: size, offset: size * randomInt(0, Math.ceil(1_000 / size)) };
      const filter = { workspaceId };
      const { db } = others[randomInt(2)]!;
      const found = await apiKeys.list(db, organisation, filter, page);
      const rows = await Array.fromAsync(found.rows);
      const reported = expected.slice(page.offset, page.offset + size);
      expect([found.total, rows.map(({ id }) => id)]).toEqual([expected.length, reported]);
    }
  });

  it('returns the current list after many concurrent changes and reads, none of which fails', async () => {
    const organisation = randomUUID();
    await load(organisation, 600);
    const page = () => ({ limit: 100, offset: 100 * randomInt(8) });
    const writers = Array.from({ length: 20 }, async (_, at) => {
      for (let made = 0; made < 5; made += 1) {
        await change(others[at % 2]!, organisation, new Map());
      }
    });
    const readers = others.flatMap(({ db }) =>
      Array.from({ length: 4 }, async () => {
        for (let read = 0; read < 30; read += 1) {
          const { rows, total } = await apiKeys.list(db, organisation, {}, page());
          expect((await Array.fromAsync(rows)).length).toBeLessThanOrEqual(total);
        }
      }),
    );
    await Promise.all([...writers, ...readers]);
    const stored = await test.database.db
      .selectFrom('api_keys')
      .select('id')
      .where('organisation_id', '=', organisation)
      .orderBy('id', 'desc')
      .execute();
    for (const { db } of others) {
      for (let offset = 0; offset < stored.length + 100; offset += 100) {
        const { ids, total } = await apiKeys.list(db, organisation, {}, { limit: 100, offset });
        const reported = stored.slice(offset, offset + 100).map(({ id }) => id);
        expect([total, ids]).toEqual([stored.length, reported]);
      }
    }
  });
});
