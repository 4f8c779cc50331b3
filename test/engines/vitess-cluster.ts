/** Starts a Vitess with two shards on one MySQL: a container, or the server of TEST_DATABASE_URL. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { startDatabase } from '../containers/database-container.ts';
import {
  externalDatabaseServer,
  findFreePort,
  type TestDatabaseServer,
} from '../support/database/database-server.ts';
import { administer } from '../support/database/empty-database.ts';
import { readMigratedSchema } from '../support/database/migrated-schema.ts';
import { databasesOf, type KeyspacePool, restore, tablesOfTests } from './keyspaces.ts';
import { vitessProgram } from './vitess-program.ts';

export interface VitessCluster extends AsyncDisposable {
  readonly server: TestDatabaseServer;
}

const vschemaPath = resolve(import.meta.dirname, '../../migrations/vschema.json');
const triesMax = 1200;
const pollMs = 250;
const nobody = 65_534;
/** Larger than the number of keyspaces that tests use at a time. */
const names = {
  empty: Array.from({ length: 4 }, (_, at) => `empty_${at}`),
  migrated: Array.from({ length: 8 }, (_, at) => `migrated_${at}`),
};

export async function startVitess(): Promise<VitessCluster> {
  const stack = new AsyncDisposableStack();
  try {
    const external = externalDatabaseServer(process.env.TEST_DATABASE_URL);
    const { server: behind } = external ?? stack.use(await startDatabase('mysql'));
    const pool: KeyspacePool = { behind, ...names };
    await makeDatabases(pool);
    const program = await startProgram(behind, stack);
    const server: TestDatabaseServer = { ...behind, port: program.port, keyspaces: pool };
    await answers(server, program);
    return { server, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Creates both templates and every database of the pool, because tablets create none. */
async function makeDatabases(pool: KeyspacePool): Promise<void> {
  const schema = (await readMigratedSchema(pool.behind)).split(';\n');
  const { gatewright_global: global } = readVschema();
  const isGlobal = (statement: string): boolean => {
    const [, table] = /^(?:CREATE TABLE|INSERT INTO) `(\w+)`/.exec(statement)!;
    return Object.hasOwn(global.tables, table!);
  };
  await administer(
    pool.behind,
    [
      anew('template_tenant'),
      anew('template_global'),
      'USE template_tenant',
      ...schema.filter((statement) => !isGlobal(statement)),
      'USE template_global',
      ...schema.filter(isGlobal),
    ].join(';\n'),
  );
  const connection = await createConnection({ ...pool.behind, multipleStatements: true });
  try {
    for (const kind of ['empty', 'migrated'] as const) {
      for (const { database, template } of pool[kind].flatMap(databasesOf)) {
        await connection.query(anew(database));
        if (kind === 'migrated') await restore(connection, database, template);
      }
    }
  } finally {
    await connection.end();
  }
}

/** Removes databases of an earlier run from a server that outlives it. */
const anew = (name: string): string =>
  `DROP DATABASE IF EXISTS \`${name}\`; CREATE DATABASE \`${name}\``;

interface Vschema {
  readonly gatewright: object;
  readonly gatewright_global: { readonly tables: object };
}

function readVschema(): Vschema {
  return JSON.parse(readFileSync(vschemaPath, 'utf8'));
}

/** Follows docs/guides/database.md: a vschema for each keyspace, routing rules for the global tables. */
function topology(folder: string): object {
  const { gatewright, gatewright_global: global } = readVschema();
  const keyspaces = Object.values(names).flat();
  const put = (name: string, vschema: object): void => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'vschema.json'), JSON.stringify(vschema));
  };
  const rules: object[] = [];
  for (const name of keyspaces) {
    put(name, gatewright);
    put(`${name}_global`, global);
    for (const table of [...Object.keys(global.tables), ...tablesOfTests]) {
      rules.push({ from_table: `${name}.${table}`, to_tables: [`${name}_global.${table}`] });
    }
  }
  // One tablet per shard, without replicas.
  const one = { replica_count: 1, rdonly_count: -1 };
  return {
    cells: ['test'],
    keyspaces: keyspaces.flatMap((name) => [
      { name, shards: [{ name: '-80' }, { name: '80-' }], ...one },
      { name: `${name}_global`, shards: [{ name: '0' }], ...one },
    ]),
    routing_rules: { rules },
  };
}

interface Program {
  /** Port of the MySQL protocol. */
  readonly port: number;
  /** Its last output; null while it runs. */
  readonly lastWords: () => string | null;
}

async function startProgram(
  behind: TestDatabaseServer,
  stack: AsyncDisposableStack,
): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-vitess-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'vtcombo');
  copyFileSync(vitessProgram(), program);
  chmodSync(program, 0o755);
  const schemas = join(folder, 'schemas');
  const data = join(folder, 'data');
  mkdirSync(join(data, 'tmp'), { recursive: true });
  const json = JSON.stringify(topology(schemas));
  // It refuses to run as root, and its child processes must not outlive this process.
  const isRoot = process.getuid?.() === 0;
  const words = ['--pdeathsig', 'KILL'];
  if (isRoot) {
    words.push(`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups');
    chmodSync(folder, 0o755);
    for (const path of [data, join(data, 'tmp')]) chownSync(path, nobody, nobody);
  }
  const ports = [await findFreePort(), await findFreePort(), await findFreePort()] as const;
  const flags = [...serverFlags(ports), ...databaseFlags(behind)];
  const logPath = join(folder, 'log');
  const log = openSync(logPath, 'w');
  const child = spawn(
    'setpriv',
    [...words, program, ...flags, `--schema-dir=${schemas}`, `--json-topo=${json}`],
    { stdio: ['ignore', log, log], env: { ...process.env, VTDATAROOT: data, VTROOT: folder } },
  );
  const ended = once(child, 'exit').catch(() => undefined);
  stack.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const lastWords = (): string | null =>
    child.exitCode === null ? null : readFileSync(logPath, 'utf8').trim().split('\n').at(-1)!;
  return { port: ports[0], lastWords };
}

function serverFlags([sql, http, grpc]: readonly [number, number, number]): string[] {
  return [
    `--mysql-server-port=${sql}`,
    `--port=${http}`,
    `--grpc-port=${grpc}`,
    ...['mysql-server-bind-address', 'bind-address', 'grpc-bind-address'].map(
      (name) => `--${name}=127.0.0.1`,
    ),
    '--mysql-auth-server-impl=none',
    '--mysql-server-version=9.7.4-Vitess',
    '--service-map=grpc-vtgateservice,grpc-vtctl,grpc-vtctld',
    '--tablet-types-to-wait=PRIMARY',
    '--foreign-key-mode=disallow',
    '--enable-system-settings=true',
    '--transaction-mode=MULTI',
    '--log-format=text',
    '--log-level=warn',
  ];
}

function databaseFlags({ host, port, user, password }: TestDatabaseServer): string[] {
  const roles = ['app', 'dba', 'allprivs', 'appdebug', 'filtered', 'repl'];
  return [
    `--db-host=${host}`,
    `--db-port=${port}`,
    '--db-charset=utf8mb4',
    '--db-ssl-mode=required',
    ...roles.flatMap((role) => [`--db-${role}-user=${user}`, `--db-${role}-password=${password}`]),
    '--queryserver-config-pool-size=8',
    '--queryserver-config-stream-pool-size=8',
    '--queryserver-config-transaction-cap=60',
    '--queryserver-config-query-timeout=30s',
    '--queryserver-config-transaction-timeout=30s',
    '--queryserver-config-schema-reload-time=1h',
    '--queryserver-config-max-result-size=1000000',
    '--warn-memory-rows=1000000',
    '--max-memory-rows=1000000',
  ];
}

/** Waits until every keyspace accepts statements. */
async function answers(server: TestDatabaseServer, { lastWords }: Program): Promise<void> {
  const statements = [
    ...names.migrated.map((name) => `SELECT 1 FROM \`${name}\`.leases`),
    ...Object.values(names)
      .flat()
      .map((name) => `USE \`${name}\`; SELECT 1 FROM DUAL`),
  ];
  for (let tries = 1; ; tries += 1) {
    try {
      await administer(server, statements.join('; '));
      return;
    } catch (error) {
      const stated = lastWords();
      if (stated !== null) throw new Error(`Vitess has ended: ${stated}`, { cause: error });
      if (tries === triesMax) throw error;
      await setTimeout(pollMs);
    }
  }
}
