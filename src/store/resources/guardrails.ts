/** Table functions for guardrails and guardrail_versions. */
import type { Generated, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { type VersionRow, versionTable } from '../rows/resource-versions.ts';
import { rows } from '../rows/rows.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';

interface GuardrailRow extends VersionColumns {
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
  /** Incremented by each change of its mappings to MCP servers. */
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
const unversioned = rows('guardrails');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  listByReferencesForShare,
  list,
  listAllForOrganisation,
  listByIds,
  update,
} = table;

/** Includes its versions. */
export const contents = contentsOf('Guardrail', 'guardrails', (at) => [
  sql`delete from guardrail_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('guardrails', at)}`,
]);

const versions = versionTable('guardrail_versions');

export const { insertVersion } = versions;

/** Records a change of its mappings. It does not change the guardrail's own version or snapshot. */
export async function countMappings(
  tx: Db,
  { organisation_id, id }: Pick<StoredGuardrail, 'organisation_id' | 'id'>,
): Promise<void> {
  const set = { mappings_version: sql`mappings_version + 1` };
  await unversioned.update(tx, { organisation_id, id }, set);
}

/** Deletes a guardrail with its versions. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await versions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
