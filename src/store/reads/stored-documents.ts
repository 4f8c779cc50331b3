/** Reads the free-form documents of all organisations, and the providers and guardrails that they may name. */

import { sql } from 'kysely';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Db } from '../connection/db.ts';

/** A row with a free-form document. */
export interface StoredDocument {
  readonly kind: KindName;
  readonly table: string;
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string | null;
  /** The free-form parts, under the names that they have in a create body. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A document may have a megabyte. */
const batchSize = 20;

const documentTables = [
  { kind: 'Config', table: 'configs', parts: ['config'] },
  { kind: 'Guardrail', table: 'guardrails', parts: ['checks', 'actions'] },
  { kind: 'Integration', table: 'integrations', parts: ['configurations', 'models'] },
  { kind: 'McpIntegration', table: 'mcp_integrations', parts: ['configurations'] },
] as const;

interface DocumentRow extends Record<string, string | null> {
  id: string;
  organisation_id: string;
}

/** Reads in batches, ordered by the primary key. */
export async function* readStoredDocuments(db: Db): AsyncGenerator<StoredDocument> {
  for (const { kind, table, parts } of documentTables) {
    let last = { organisation_id: '', id: '' };
    for (;;) {
      const names = [...parts, ...(kind === 'Integration' ? ['ai_provider'] : [])];
      const { rows } = await sql<DocumentRow>`
        SELECT id, organisation_id, workspace_id, ${sql.join(names.map((name) => sql.ref(name)))}
        FROM ${sql.table(table)}
        WHERE organisation_id > ${last.organisation_id}
          OR (organisation_id = ${last.organisation_id} AND id > ${last.id})
        ORDER BY organisation_id, id LIMIT ${sql.lit(batchSize)}`.execute(db);
      for (const row of rows) yield documentOf(kind, table, parts, row);
      if (rows.length < batchSize) break;
      last = rows.at(-1)!;
    }
  }
}

function documentOf(
  kind: KindName,
  table: string,
  parts: readonly string[],
  row: DocumentRow,
): StoredDocument {
  const { id, organisation_id: organisationId, workspace_id: workspaceId = null } = row;
  const read = parts.map((part) => [part, JSON.parse(row[part] ?? 'null')] as const);
  const spec = { ai_provider_id: row.ai_provider, ...Object.fromEntries(read) };
  return { kind, table, id, organisationId, workspaceId, spec };
}

/** The names of a provider or a guardrail in documents. */
export interface StoredNames {
  readonly id: string;
  readonly slug: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
}

export function listProviderNames(db: Db): Promise<StoredNames[]> {
  return db
    .selectFrom('providers')
    .select(['id', 'slug', 'organisation_id', 'workspace_id'])
    .execute();
}

/** Leaves out guardrails that cannot judge the requests of a config. */
export function listGuardrailNames(db: Db): Promise<StoredNames[]> {
  return db
    .selectFrom('guardrails')
    .where('status', '=', 'active')
    .where('target', '=', 'llm')
    .select(['id', 'slug', 'organisation_id', 'workspace_id'])
    .execute();
}
