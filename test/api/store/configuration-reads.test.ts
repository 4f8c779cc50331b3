/** Verifies that a snapshot of random rows is read with the results that the database returns. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigurationReads } from '../../../src/store/reads/configuration-reads.ts';
import { databaseReads } from '../../../src/store/reads/database-reads.ts';
import { SnapshotReads } from '../../../src/store/reads/snapshot-reads.ts';
import { readDatabaseView } from '../../support/database/database-view.ts';
import {
  deleteRandomRows,
  hashes,
  ids,
  insertRandomRows,
  organisations,
  slugs,
} from '../../support/database/random-rows.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const now = 1_000;
let server: TestServer;
let database: ConfigurationReads;
let snapshot: ConfigurationReads;

beforeAll(async () => {
  server = await startTestServer();
  await server.database.transaction(insertRandomRows);
  await server.database.db.insertInto('data_keys').values(dataKey).execute();
  database = databaseReads(server.database.readable);
  const view = await readDatabaseView(server.database, now);
  snapshot = new SnapshotReads(() => ({
    view,
    isComplete: true,
    completeUntilMs: now,
    isInForce: true,
  }));
});

afterAll(async () => {
  await server.database.transaction(deleteRandomRows);
  const { organisation_id } = dataKey;
  await sql`delete from data_keys where organisation_id = ${organisation_id}`.execute(
    server.database.db,
  );
  await server[Symbol.asyncDispose]();
});

const dataKey = { organisation_id: organisations[0]!.id, master_key_id: 'm', wrapped_key: 'w' };
const tenants = organisations.map(({ id }) => id);
const references = [...ids, ...slugs, 'nobody', ids[0]!.toUpperCase(), 'no slug'];
const versions = ['latest', 'default', '1', '3', '9', 'alpha', ids[1]!, ids[2]!, 'odd name'];
const workspaces = [null, ...ids];
const pairs = <A, B>(ones: readonly A[], others: readonly B[]): [A, B][] =>
  ones.flatMap((one) => others.map((other): [A, B] => [one, other]));

type Name = keyof ConfigurationReads;
type Case = { readonly [N in Name]: readonly Parameters<ConfigurationReads[N]>[] };

const cases: Case = {
  findHolder: [...hashes, Buffer.alloc(32)].map((hash) => [hash, now, -1e12]),
  findKey: pairs(tenants, ids),
  findTokenWorkspace: pairs([...tenants, '1000000001', '1000000009', 'nobody'], references),
  findWorkspace: pairs(tenants, references),
  findConfig: pairs(tenants, references),
  findGuardrail: pairs(tenants, references),
  listBudgets: [...pairs(tenants, [ids, ids.slice(0, 2), []])],
  listPolicies: tenants.map((id) => [id]),
  listProviders: pairs(pairs(tenants, workspaces), references).map(([[id, at], name]) => [
    id,
    at,
    name,
  ]),
  listSlugsOfProviders: pairs(tenants, workspaces),
  findPrompt: [
    ...pairs(tenants, references),
    ...pairs(
      tenants,
      pairs(references, versions).map((both) => both.join('@')),
    ),
  ],
  findMcpServer: pairs(pairs(tenants, references), workspaces).map(([[id, slug], at]) => [
    id,
    slug,
    at,
  ]),
  findDataKey: [...tenants, 'nobody'].map((id) => [id]),
};

/** Lists without an order are compared in the order of their texts; columns that snapshots omit are left out. */
function comparable(value: unknown, shape: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = Array.isArray(shape) ? shape : [];
    const keys = shapes.length === 0 ? {} : Object.assign({}, ...shapes);
    const found = value.map((one) => comparable(one, typeof one === 'object' ? keys : one));
    return found.toSorted((one, other) => textOf(one).localeCompare(textOf(other)));
  }
  const isPlain = Object.getPrototypeOf(value ?? '') === Object.prototype;
  if (!isPlain || typeof shape !== 'object' || shape === null) return value;
  const known = Object.entries(value as object).filter(([key]) => Object.hasOwn(shape, key));
  return Object.fromEntries(
    known.map(([key, inner]) => [key, comparable(inner, (shape as Record<string, unknown>)[key])]),
  );
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? '';

describe('a snapshot', () => {
  for (const name of Object.keys(cases) as Name[]) {
    it(`has the results of the database for ${name}`, async () => {
      let found = 0;
      for (const args of cases[name]) {
        const read = (from: ConfigurationReads) =>
          (from[name] as (...of: readonly unknown[]) => Promise<unknown>)(...args);
        const [expected, result] = [await read(database), await read(snapshot)];
        found += Number(expected !== undefined);
        // Times of use change without a new generation.
        const held =
          name === 'findKey' && expected ? { ...expected, last_used_at: null } : expected;
        expect(comparable(result, held), `${name} ${textOf(args)}`).toEqual(
          comparable(held, result),
        );
      }
      expect(found).toBeGreaterThan(0);
    });
  }

  it('fails like an unreachable database for everything that it lacks while it may be incomplete', async () => {
    const view = await readDatabaseView(server.database, now);
    const unsure = new SnapshotReads(() => ({
      view,
      isComplete: false,
      completeUntilMs: now,
      isInForce: true,
    }));
    const [id] = tenants;
    const missing = [
      unsure.findHolder(Buffer.alloc(32), now, -1e12),
      unsure.findKey(id!, 'nobody'),
      unsure.findTokenWorkspace('nobody', 'alpha'),
      unsure.findConfig(id!, 'nobody'),
      unsure.findGuardrail(id!, 'nobody'),
      unsure.listProviders(id!, null, 'nobody'),
      unsure.listPolicies('nobody'),
      unsure.listBudgets('nobody', ids),
      unsure.findPrompt(id!, 'nobody'),
      unsure.findMcpServer(id!, 'nobody', null),
    ];
    const settled = await Promise.allSettled(missing);
    expect(settled.map(({ status }) => status)).toEqual(missing.map(() => 'rejected'));
    for (const one of settled) {
      expect((one as PromiseRejectedResult).reason).toMatchObject({ name: 'DatabaseUnavailable' });
    }
  });
});
