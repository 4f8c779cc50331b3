/**
 * Verifies by their SQL that lists with cached positions never scan more rows than the distance
 * between two positions.
 */
import { randomUUID } from 'node:crypto';
import { Connection } from 'mysql2';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import type { Page } from '../../../src/model/wire/paging.ts';
import { type Database, type Db, openDatabase } from '../../../src/store/connection/db.ts';
import { listNumbered } from '../../../src/store/logs/audit-pages.ts';
import * as logExports from '../../../src/store/logs/log-exports.ts';
import * as mcpConnections from '../../../src/store/mcp/mcp-connections.ts';
import * as mcpServerUsers from '../../../src/store/mcp/mcp-server-users.ts';
import * as promptVersions from '../../../src/store/prompts/prompt-versions.ts';
import * as apiKeys from '../../../src/store/resources/api-keys.ts';
import * as syncLeases from '../../../src/store/sync/sync-leases.ts';
import * as syncStatus from '../../../src/store/sync/sync-status.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow } from '../../support/rows/api-key-row.ts';

let test: TestDatabase;
const organisation = randomUUID();
const at = { created_at: 1, last_updated_at: 1 };
const server = { id: randomUUID(), organisation_id: organisation, workspace_id: randomUUID() };
const place = { organisation_id: organisation, mcp_server_id: server.id };
/** More rows than the distance between two cached positions. */
const count = 950;
const limit = 100;

interface TestedList {
  readonly table:
    | 'api_keys'
    | 'log_exports'
    | 'mcp_connections'
    | 'mcp_server_users'
    | 'prompt_versions'
    | 'sync_leases';
  row(index: number): object;
  /** Returns what identifies each row. */
  read(db: Db, page: Page): Promise<{ ids: string[]; total: number }>;
  /** Adds a row through the program, which marks the change. */
  addOne(): Promise<void>;
}

async function idsOf<T>(
  found: Promise<{ rows: readonly T[]; total: number }>,
  idOf: (row: T) => string,
): Promise<{ ids: string[]; total: number }> {
  const { rows, total } = await found;
  return { ids: rows.map(idOf), total };
}

const exportRow = (): Parameters<typeof logExports.insert>[1] => ({
  organisation_id: organisation,
  id: newId(),
  workspace_id: null,
  description: '',
  status: 'draft',
  filters: '{}',
  selection: '{}',
  requested_data: '[]',
  after_at: null,
  after_id: null,
  until_at: null,
  records: 0,
  bytes: 0,
  parts: 0,
  created_by: 'test',
  version: 1,
  started_at: null,
  finished_at: null,
  ...at,
});
const connectionRow = () => ({
  ...place,
  user_id: newId(),
  access_token: '',
  refresh_token: null,
  ...at,
});
const user = () => ({
  id: newId(),
  organisation_id: organisation,
  first_name: 'Ann',
  last_name: null,
  role: 'member' as const,
  status: 'active' as const,
  source: 'scim' as const,
  external_id: null,
  ...at,
});
const prompt = { id: randomUUID(), organisation_id: organisation, version_number: 1 };
const version = { name: 'p', content: '{}', created_by: 'test', created_at: 1 };
const leaseRow = (index: number) => ({
  organisation_id: organisation,
  owner: `owner-${randomUUID()}`,
  number: index + 1,
  principal_id: '',
  run_id: '',
  holder: '',
  held_since: 0,
  yields: 0,
  fence: 0,
  expires_at: 0,
});

/** Adds users of this server. */
async function addUsers(some: number): Promise<string[]> {
  const rows = Array.from({ length: some }, user).map((one) => {
    const email = `${one.id}@example.com`;
    return { ...one, email, email_key: email };
  });
  await test.database.db.insertInto('users').values(rows).execute();
  return rows.map(({ id }) => id);
}

let userIds: string[] = [];

const lists: readonly TestedList[] = [
  {
    table: 'api_keys',
    row: () => apiKeyRow({ organisation_id: organisation, id: newId() }),
    read: async (db, page) => {
      const { ids, total } = await apiKeys.list(db, organisation, {}, page);
      return { ids: [...ids], total };
    },
    addOne: async () => {
      const row = apiKeyRow({ organisation_id: organisation, id: newId() });
      const value = { hash: Buffer.from(row.id.replaceAll('-', '')), pepper_id: 'test' };
      await test.database.transaction((tx) => apiKeys.insert(tx, { ...row, ...value }));
    },
  },
  {
    table: 'log_exports',
    row: exportRow,
    read: (db, page) => {
      const filter = { workspaceId: undefined, status: undefined, ofKeys: null };
      return idsOf(logExports.list(db, organisation, filter, page), ({ id }) => id);
    },
    addOne: () => test.database.transaction((tx) => logExports.insert(tx, exportRow())),
  },
  {
    table: 'mcp_connections',
    row: () => ({ ...connectionRow(), version: 1 }),
    read: (db, page) =>
      idsOf(mcpConnections.list(db, place, undefined, page), ({ user_id }) => user_id),
    addOne: () => test.database.transaction((tx) => mcpConnections.put(tx, connectionRow())),
  },
  {
    table: 'mcp_server_users',
    row: (index) => ({ ...place, user_id: userIds[index], enabled: 1, ...at }),
    read: (db, page) => idsOf(mcpServerUsers.list(db, server, undefined, page), ({ id }) => id),
    addOne: async () => {
      const [userId] = await addUsers(1);
      const stated = [{ userId: userId!, enabled: true }];
      await test.database.transaction((tx) =>
        mcpServerUsers.upsertMany(tx, organisation, server.id, stated, 1),
      );
    },
  },
  {
    // Each with its own label, because versions without one are pruned.
    table: 'prompt_versions',
    row: (index) => ({
      organisation_id: organisation,
      resource_id: idToBytes(prompt.id),
      number: index + 1,
      ...version,
      id: idToBytes(newId()),
      label_id: newId(),
    }),
    read: async (db, page) => {
      const { rows, total } = await promptVersions.list(db, prompt, page);
      return { ids: (await Array.fromAsync(rows)).map(({ id }) => id), total };
    },
    addOne: async () => {
      const one = { ...version, id: newId() };
      await test.database.transaction((tx) => promptVersions.insertVersion(tx, prompt, one));
    },
  },
  {
    table: 'sync_leases',
    row: leaseRow,
    read: (db, page) =>
      idsOf(syncStatus.listOwners(db, organisation, undefined, page), ({ owner }) => owner),
    addOne: () =>
      test.database.transaction((tx) =>
        syncLeases.insertNext(tx, organisation, `owner-${randomUUID()}`),
      ),
  },
];

beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  userIds = await addUsers(count);
  for (const { table, row } of lists) {
    const rows = Array.from({ length: count }, (_, index) => row(index));
    await test.database.db
      .insertInto(table)
      .values(rows as never)
      .execute();
  }
});
afterAll(() => test[Symbol.asyncDispose]());
afterEach(() => vi.restoreAllMocks());

/** Returns the rows that the statements skipped, by their OFFSET. */
async function offsetsOf(work: () => Promise<unknown>): Promise<number[]> {
  const offsets: number[] = [];
  const seen = vi.spyOn(Connection.prototype, 'query');
  await work();
  for (const [requested, values] of seen.mock.calls as unknown as [
    string | { sql: string },
    unknown,
  ][]) {
    const text = typeof requested === 'string' ? requested : requested.sql;
    if (/ offset \?/i.test(text)) offsets.push(Number((values as unknown[]).at(-1)));
  }
  seen.mockRestore();
  return offsets;
}

describe.each(lists)('the list of $table', ({ read, addOne }) => {
  it('returns each row once in one order, and skips no row twice', async () => {
    const pages = Array.from({ length: Math.ceil(count / limit) }, (_, index) => index * limit);
    const all = async () => {
      const found = [];
      for (const offset of pages) found.push(await read(test.database.db, { limit, offset }));
      return found;
    };
    const first = await all();
    const ids = first.flatMap((page) => page.ids);
    expect([ids.length, new Set(ids).size]).toEqual([count, count]);
    expect(new Set(first.map(({ total }) => total))).toEqual(new Set([count]));
    let second: typeof first = [];
    const offsets = await offsetsOf(async () => {
      second = await all();
    });
    expect(second).toEqual(first);
    expect(offsets).toHaveLength(pages.length);
    expect(Math.max(...offsets)).toBeLessThanOrEqual(limit);
    // Backwards as well, from the nearest position.
    const last = await read(test.database.db, { limit: 10, offset: count - 15 });
    expect(last.ids).toEqual(ids.slice(-15, -5));
  });

  it('reflects a change', async () => {
    const before = await read(test.database.db, { limit, offset: count - 50 });
    await addOne();
    const after = await read(test.database.db, { limit, offset: count - 50 });
    expect([before.total, after.total]).toEqual([count, count + 1]);
    expect(after.ids).toHaveLength(51);
  });
});

describe('numbered pages of the audit log', () => {
  const limit = 51;
  const filter = { equal: {}, actions: null, isOpen: true } as const;
  const minuteMs = 60_000;
  let others: Database[];
  beforeAll(() => {
    others = [0, 1].map(() => openDatabase(test.settings));
  });
  afterAll(() => Promise.all(others.map((other) => other[Symbol.asyncDispose]())));

  const rowOf = (organisation_id: string, at: number) => ({
    organisation_id,
    at,
    id: idToBytes(newId()),
    workspace_id: null,
    actor_kind: 'job',
    actor_id: '',
    action: 'create',
    resource_kind: 'Config',
    resource_id: '',
    changes: '{}',
    request_id: '',
    chain_position: null,
    chain_previous: null,
    chain_hash: null,
  });
  async function add(rows: readonly ReturnType<typeof rowOf>[]): Promise<string[]> {
    if (rows.length > 0) await test.database.db.insertInto('audit_log').values(rows).execute();
    return rows.map(({ id }) => id.toString('hex')).toReversed();
  }
  async function idsAt(db: Db, of: string, offset: number, now: number): Promise<string[]> {
    const sought = { ...filter, from: 0, to: now };
    const rows = await listNumbered(db, of, sought, { limit, offset }, now);
    return rows.map(({ id }) => id.toString('hex'));
  }

  it('skips no row that an earlier page skipped, at any size of the log', async () => {
    const of = randomUUID();
    const now = 100_000 * minuteMs;
    const rows = Array.from({ length: 2_000 }, (_, at) => rowOf(of, now - (2_000 - at) * minuteMs));
    const ids = await add(rows);
    const { db } = test.database;
    const pageAt = (offset: number) => idsAt(db, of, offset, now);
    for (let offset = 0; offset < 2_000; offset += limit - 1) {
      expect(await pageAt(offset)).toEqual(ids.slice(offset, offset + limit));
    }
    const offsets = await offsetsOf(async () => {
      for (const offset of [1_950, 1_000, 333, 50]) {
        expect(await pageAt(offset)).toEqual(ids.slice(offset, offset + limit));
      }
    });
    expect(Math.max(...offsets)).toBeLessThan(4 * limit);
  });

  it('stays consistent on every server while the log grows and its oldest rows are deleted', async () => {
    const of = randomUUID();
    const began = 100_000 * minuteMs;
    let known = await add(Array.from({ length: 700 }, (_, at) => rowOf(of, began - 700 + at)));
    for (let round = 0, now = began; round < 60; round += 1, now += minuteMs / 2) {
      // Some rows share one time, and some are written late.
      const late = [now - 2, now - 2, now - 1, now].slice(0, round % 5);
      known = [...(await add(late.map((at) => rowOf(of, at)))), ...known];
      if (round % 20 === 19) {
        const oldest = known.splice(-10).map((id) => Buffer.from(id, 'hex'));
        await test.database.db.deleteFrom('audit_log').where('id', 'in', oldest).execute();
      }
      const { db } = others[round % 2]!;
      for (const offset of [0, 50, (round * 37) % known.length, known.length - 20]) {
        const reported = await idsAt(db, of, offset, now);
        expect([round, offset, reported]).toEqual([
          round,
          offset,
          known.slice(offset, offset + limit),
        ]);
      }
    }
  });
});
