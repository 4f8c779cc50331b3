/** Knows what pages of long lists take, wherever they lie, beside the first page of a short one. */
import { type Connection, createConnection } from 'mysql2/promise';
import { request as send } from 'undici';
import { newId } from '../src/model/wire/ids.ts';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import { type Member, median, type Row } from './harness.ts';
import {
  databaseName,
  environment,
  makeTenant,
  type Server,
  setUp,
  startProduct,
  type Tenant,
  tokenOf,
} from './product.ts';

const long = 100_000;
const short = 1_000;
const rowsPerInsert = 1_000;
const rounds = 31;
const warmUpRounds = 20;
const pageSize = 100;
const ratioMost = 1.5;

/** A table that a list shows, and what its rows need beside organisation, id and times. */
interface Listed {
  readonly path: string;
  readonly table: string;
  readonly columns: Readonly<Record<string, (of: Rows) => unknown>>;
}

interface Rows {
  readonly organisation: string;
  readonly at: number;
}

const config = JSON.stringify({ retry: { attempts: 3 }, override_params: { model: 'm' } });
const one = (value: unknown) => () => value;
const named = {
  name: ({ at }: Rows) => `name ${at}`,
  slug: ({ at }: Rows) => `slug-${at}`,
};
const versioned = {
  status: one('active'),
  version_id: () => newId(),
  owner_id: ({ organisation }: Rows) => organisation,
  updated_by: ({ organisation }: Rows) => organisation,
};

const lists: readonly Listed[] = [
  {
    ...{ path: '/v1/api-keys', table: 'api_keys' },
    columns: {
      ...{ name: named.name, type: one('organisation-service'), key_mask: one('ab*****xyz') },
      ...{ status: one('active'), creation_mode: one('api'), scopes: one('["logs.view"]') },
      created_by: one('bench'),
    },
  },
  {
    ...{ path: '/v1/configs', table: 'configs' },
    columns: { ...named, ...versioned, config: one(config) },
  },
  {
    ...{ path: '/v1/guardrails', table: 'guardrails' },
    columns: { ...named, ...versioned, checks: one('[]'), target: one('llm') },
  },
  {
    ...{ path: '/v1/admin/users', table: 'users' },
    columns: {
      email: ({ at }) => `user-${at}@example.com`,
      email_key: ({ at }) => `user-${at}@example.com`,
      ...{ role: one('member'), status: one('active'), source: one('scim') },
    },
  },
  {
    ...{ path: '/v1/logs/exports', table: 'log_exports' },
    columns: {
      ...{ status: one('draft'), description: ({ at }) => `export ${at}`, filters: one('{}') },
      ...{ selection: one('{}'), requested_data: one('["id"]'), created_by: one('bench') },
    },
  },
];

export const member: Member = {
  name: 'lists: pages of 100,000 rows over the first of 1,000',
  run: async (): Promise<Row[]> => {
    const database = await startTestDatabaseServer();
    try {
      const env = environment(database.server);
      const few = await setUp(database.server, env);
      const many = await makeTenant(env);
      const connection = await createConnection({ ...database.server, database: databaseName });
      const rows: Row[] = [];
      for (const listed of lists)
        rows.push(...(await measure(env, { few, many }, connection, listed)));
      await connection.end();
      return rows;
    } finally {
      await database.stop();
    }
  },
};

/** One of a short list, and one of a long one. */
interface Tenants {
  readonly few: Tenant;
  readonly many: Tenant;
}

async function measure(
  env: Record<string, string>,
  tenants: Tenants,
  connection: Connection,
  listed: Listed,
): Promise<Row[]> {
  const product = await startProduct(env);
  try {
    await fill(connection, listed, tenants.few, short);
    await fill(connection, listed, tenants.many, long);
    return await pagesOf(product, tenants, listed);
  } finally {
    product.process.kill('SIGKILL');
  }
}

/** All in turn; rounds that warm up are not counted. In the first rows are counted, and walked over. */
async function pagesOf(server: Server, { few, many }: Tenants, { path }: Listed): Promise<Row[]> {
  const [fewToken, manyToken] = [await tokenOf(server, few), await tokenOf(server, many)];
  const pages = [
    { token: fewToken, page: 0 },
    { token: manyToken, page: 0 },
    { token: manyToken, page: 500 },
    { token: manyToken, page: long / pageSize - 1 },
  ];
  const times = pages.map((): number[] => []);
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    for (const [at, { token, page }] of pages.entries()) {
      const began = performance.now();
      await getPage(`${server.url}${path}?page_size=${pageSize}&current_page=${page}`, token);
      times[at]!.push(performance.now() - began);
    }
  }
  const [ofShort, first, middle, last] = times.map((each) => median(each.slice(warmUpRounds)));
  const told = (what: string, ratio: number, aim: number | null): Row => {
    return { metric: `${path} ${what}`, ratio, aim };
  };
  return [
    told('page 0 over that of 1,000', first! / ofShort!, ratioMost),
    told('page 500 over page 0', middle! / first!, ratioMost),
    told('last page over page 0', last! / first!, ratioMost),
    told('page 500 for the first time, ms', times[2]![0]!, null),
  ];
}

async function getPage(url: string, token: string): Promise<void> {
  const answer = await send(url, { headers: { authorization: `Bearer ${token}` } });
  const { data } = (await answer.body.json()) as { data?: unknown[] };
  if (data?.length !== pageSize) throw new Error(`${url} has ${data?.length} items`);
}

/** More rows of an organisation, written past the product. */
async function fill(
  connection: Connection,
  listed: Listed,
  { tsgId }: Tenant,
  count: number,
): Promise<void> {
  const [found] = await connection.query('select id from organisations where tsg_id = ?', [tsgId]);
  const organisation = (found as { id: string }[])[0]!.id;
  const names = Object.keys(listed.columns);
  const columns = ['organisation_id', 'id', 'created_at', 'last_updated_at', ...names];
  const now = Date.now();
  for (let made = 0; made < count; made += rowsPerInsert) {
    const some = Array.from({ length: rowsPerInsert }, (_, at) => {
      const values = names.map((name) => listed.columns[name]!({ organisation, at: made + at }));
      return [organisation, newId(), now, now, ...values];
    });
    await connection.query(`insert into ${listed.table} (${columns.join()}) values ?`, [some]);
  }
}
