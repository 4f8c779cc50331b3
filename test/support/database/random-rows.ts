/** Fills the tables of a sealed snapshot with random rows whose references meet, miss and repeat. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import {
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import { seed } from '../run/test-effort.ts';

const rowsOfTable = 30;

export const organisations = [
  { id: randomUUID(), tsg_id: '1000000001' },
  { id: randomUUID(), tsg_id: '1000000002' },
];
/** Few, so that references meet rows, miss them, and meet those of another organisation. */
export const ids = Array.from({ length: 6 }, () => randomUUID());
export const slugs = ['alpha', 'beta', 'gamma'];
export const hashes = Array.from({ length: 6 }, (_, at) => Buffer.alloc(32, at + 1));

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

type Pick = <T>(values: readonly T[]) => T;
type Values = Readonly<Record<string, (pick: Pick) => unknown>>;

const references = [...ids, ...slugs, 'nobody'];
const partial = (pick: Pick) => JSON.stringify({ string: `text {{> ${pick(references)} }}` });
const list = (pick: Pick) => JSON.stringify([pick(references)]);
const mappings = (pick: Pick) =>
  JSON.stringify([{ target_field: 'key', reference_id: pick(ids), secret_key: null }]);
const status = (pick: Pick) => pick(['active', 'archived']);

/** Values that have a form, by column, or by table and column. */
const formed: Values = {
  slug: (pick) => pick(slugs),
  status,
  'api_keys.status': (pick) => pick(['active', 'expired']),
  hash: (pick) => pick(hashes),
  'prompt_versions.id': (pick) => idToBytes(pick(ids)),
  'prompt_versions.resource_id': (pick) => idToBytes(pick(ids)),
  'prompt_versions.number': (pick) => pick([1, 2, 3]),
  version_number: (pick) => pick([1, 2, 3]),
  'prompt_labels.name': (pick) => pick(slugs),
  'prompt_labels.place': (pick) => pick(['', ...ids]),
  'prompts.content': partial,
  'prompt_partials.content': partial,
  'prompt_versions.content': partial,
  secret_mappings: mappings,
  input_guardrails: list,
  output_guardrails: list,
  mcp_input_guardrails: list,
  mcp_output_guardrails: list,
  'guardrail_exclusions.input_guardrails': (pick) => pick([0, 1]),
  'guardrail_exclusions.output_guardrails': (pick) => pick([0, 1]),
  defaults: (pick) => JSON.stringify({ mcp_input_guardrails: [pick(references)] }),
  facts: (pick) =>
    pick([
      '{"uri":"file:///a","uri_template":null}',
      '{"uri":"null","inputSchema":{"x-mcp-header":"a"}}',
      '{"uri_template":{"odd":1}}',
      '{}',
    ]),
  'mcp_capabilities.type': (pick) => pick(['tool', 'prompt', 'resource']),
  'rate_limit_policies.value': (pick) => pick([1, 2]),
  credit_limit_units: (pick) => pick([1, 2]),
  definitions_from: (pick) => pick(['first_sync', 'declared']),
};

/** Rows that repeat a unique value are left out. */
export async function insertRandomRows(tx: Db): Promise<void> {
  const random = fc.sample(fc.nat(), { seed, numRuns: 100_000 }).values();
  const pick: Pick = (values) => values[Number(random.next().value) % values.length]!;
  for (const table of Object.keys(snapshotTables) as SnapshotTableName[]) {
    const columns = await columnsOf(tx, table);
    const own = table === 'organisations' ? organisations : Array(rowsOfTable).fill({});
    for (const fixed of own as Readonly<Record<string, unknown>>[]) {
      const row = columns.map((column) => fixed[column.name] ?? randomValue(pick, table, column));
      await sql`insert ignore into ${sql.table(table)}
        (${sql.join(columns.map(({ name }) => sql.ref(name)))}) values (${sql.join(row)})`.execute(
        tx,
      );
    }
  }
}

/** Removes them, because they break the rules between tables. */
export async function deleteRandomRows(tx: Db): Promise<void> {
  for (const table of Object.keys(snapshotTables) as SnapshotTableName[]) {
    const { tenant } = snapshotTables[table];
    const owners = organisations.map(({ id }) => id);
    await sql`delete from ${sql.table(table)} where ${sql.ref(tenant)} in (${sql.join(owners)})`.execute(
      tx,
    );
  }
}

async function columnsOf(tx: Db, table: string): Promise<Column[]> {
  const { rows } = await sql<{ name: string; type: string; nullable: string }>`
    select column_name as name, data_type as type, is_nullable as nullable
    from information_schema.columns where table_schema = database() and table_name = ${table}
      and extra not like '%GENERATED%'`.execute(tx);
  return rows.map(({ name, type, nullable }) => ({ name, type, isNullable: nullable === 'YES' }));
}

function randomValue(pick: Pick, table: string, { name, type, isNullable }: Column): unknown {
  if (table === 'organisations') return isNullable ? null : /int/.test(type) ? 1 : 'name';
  if (name === 'organisation_id') return pick(organisations).id;
  if (isNullable && pick([true, false, false])) return null;
  const form = formed[`${table}.${name}`] ?? formed[name];
  if (form !== undefined) return form(pick);
  if (/binary|blob/.test(type)) return Buffer.from(pick(slugs));
  if (/int|decimal/.test(type)) return pick([0, 1]);
  if (name === 'id' || name.endsWith('_id')) return pick(ids);
  return pick(['{}', '[]']);
}
