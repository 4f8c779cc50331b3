/** Knows the guardrails table and guardrail_versions, which keeps what each guardrail once said. */
import type { Generated, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { type VersionRow, versionTable } from '../rows/resource-versions.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';

interface GuardrailRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  target: 'llm' | 'mcp_tools';
  status: 'active' | 'archived';
  checks: string;
  actions: string | null;
  version_id: string;
  owner_id: string;
  updated_by: string;
  /** Counts the changes of its mappings to MCP servers. */
  mappings_version: Generated<number>;
}

interface GuardrailVersionRow extends VersionRow {
  checks: string;
  actions: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    guardrails: GuardrailRow;
    guardrail_versions: GuardrailVersionRow;
  }
}

/** A guardrail as stored. */
export type StoredGuardrail = Selectable<GuardrailRow>;

const table = resourceTable('guardrails');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  listByReferencesForShare,
  list,
  listAllForOrganisation,
  update,
} = table;

/** With its versions. */
export const contents = contentsOf('Guardrail', 'guardrails', (at) => [
  sql`delete from guardrail_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('guardrails', at)}`,
]);

const versions = versionTable('guardrail_versions');

export const { insertVersion } = versions;

export function listByIds(
  db: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<StoredGuardrail[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('guardrails')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
}

/** Counts a change of its mappings. */
export async function countMappings(
  tx: Db,
  { organisation_id, id }: Pick<StoredGuardrail, 'organisation_id' | 'id'>,
): Promise<void> {
  await tx
    .updateTable('guardrails')
    .set({ mappings_version: sql`mappings_version + 1` })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .execute();
}

/** Takes its versions with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await versions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
