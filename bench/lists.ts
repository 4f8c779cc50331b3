/** Measures first, middle and last pages of long lists against the first page of a short list. */
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
const ratioMax = 1.5;

/** A list route, its table, and the columns of a row besides organisation, id and timestamps. */
interface MeasuredList {
  readonly path: string;
  readonly table: string;
  readonly columns: Readonly<Record<string, (of: Rows) => unknown>>;
}

interface Rows {
  readonly organisation: string;
  readonly at: number;
}

const config = JSON.stringify({ retry: { attempts: 3 }, override_params: { model: 'm' } });
const constant = (value: unknown) => () => value;
const named = {
  name: ({ at }: Rows) => `name ${at}`,
  slug: ({ at }: Rows) => `slug-${at}`,
};
const versioned = {
  status: constant('active'),
  version_id: () => newId(),
  owner_id: ({ organisation }: Rows) => organisation,
  updated_by: ({ organisation }: Rows) => organisation,
};

const lists: readonly MeasuredList[] = [
  {
    path: '/v1/api-keys',
    table: 'api_keys',
    columns: {
      name: named.name,
      type: constant('organisation-service'),
      key_mask: constant('ab*****xyz'),
      status: constant('active'),
      creation_mode: constant('api'),
      scopes: constant('["logs.view"]'),
      created_by: constant('bench'),
    },
  },
  {
    path: '/v1/configs',
    table: 'configs',
    columns: { ...named, ...versioned, config: constant(config) },
  },
  {
    path: '/v1/guardrails',
    table: 'guardrails',
    columns: { ...named, ...versioned, checks: constant('[]'), target: constant('llm') },
  },
  {
    path: '/v1/admin/users',
    table: 'users',
    columns: {
      email: ({ at }) => `user-${at}@example.com`,
      email_key: ({ at }) => `user-${at}@example.com`,
      role: constant('member'),
      status: constant('active'),
      source: constant('scim'),
    },
  },
  {
    path: '/v1/logs/exports',
    table: 'log_exports',
    columns: {
      status: constant('draft'),
      description: ({ at }) => `export ${at}`,
      filters: constant('{}'),
      selection: constant('{}'),
      requested_data: constant('["id"]'),
      created_by: constant('bench'),
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
      for (const list of lists) rows.push(...(await measure(env, { few, many }, connection, list)));
      await connection.end();
      return rows;
    } finally {
      await database.stop();
    }
  },
};

/** An organisation with a short list and one with a long list. */
interface Tenants {
  readonly few: Tenant;
  readonly many: Tenant;
}

async function measure(
  env: Record<string, string>,
  tenants: Tenants,
  connection: Connection,
  list: MeasuredList,
): Promise<Row[]> {
  const product = await startProduct(env);
  try {
    await fill(connection, list, tenants.few, short);
    await fill(connection, list, tenants.many, long);
    return await pagesOf(product, tenants, list);
  } finally {
    product.process.kill('SIGKILL');
  }
}

/** Requests the pages in turn; warm-up rounds do not count. The first round counts rows and fills caches. */
async function pagesOf(
  server: Server,
  { few, many }: Tenants,
  { path }: MeasuredList,
): Promise<Row[]> {
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
  const reported = (what: string, ratio: number, aim: number | null): Row => {
    return { metric: `${path} ${what}`, ratio, aim };
  };
  return [
    reported('page 0 over that of 1,000', first! / ofShort!, ratioMax),
    reported('page 500 over page 0', middle! / first!, ratioMax),
    reported('last page over page 0', last! / first!, ratioMax),
    reported('page 500 for the first time, ms', times[2]![0]!, null),
  ];
}

async function getPage(url: string, token: string): Promise<void> {
  const response = await send(url, { headers: { authorization: `Bearer ${token}` } });
  const { data } = (await response.body.json()) as { data?: unknown[] };
  if (data?.length !== pageSize) throw new Error(`${url} has ${data?.length} items`);
}

/** Inserts rows of an organisation directly into the database. */
async function fill(
  connection: Connection,
  list: MeasuredList,
  { tsgId }: Tenant,
  count: number,
): Promise<void> {
  const [found] = await connection.query('select id from organisations where tsg_id = ?', [tsgId]);
  const organisation = (found as { id: string }[])[0]!.id;
  const names = Object.keys(list.columns);
  const columns = ['organisation_id', 'id', 'created_at', 'last_updated_at', ...names];
  const now = Date.now();
  for (let made = 0; made < count; made += rowsPerInsert) {
    const some = Array.from({ length: rowsPerInsert }, (_, at) => {
      const values = names.map((name) => list.columns[name]!({ organisation, at: made + at }));
      return [organisation, newId(), now, now, ...values];
    });
    await connection.query(`insert into ${list.table} (${columns.join()}) values ?`, [some]);
  }
}
