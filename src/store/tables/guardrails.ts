/** Knows the guardrails table and guardrail_versions, which keeps what each guardrail once said. */
import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from './resource-table.ts';
import type { Versioned } from './versioned.ts';

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
}

export interface GuardrailVersionRow {
  id: string;
  guardrail_id: string;
  organisation_id: string;
  name: string;
  checks: string;
  actions: string | null;
  created_by: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    guardrails: GuardrailRow;
    guardrail_versions: GuardrailVersionRow;
  }
}

/** A guardrail as stored. */
export type StoredGuardrail = Selectable<GuardrailRow>;

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  listByReferencesForShare,
  list,
  listAllForOrganisation,
  update,
} = resourceTable('guardrails');

export async function insertVersion(tx: Db, row: Insertable<GuardrailVersionRow>): Promise<void> {
  await tx.insertInto('guardrail_versions').values(row).execute();
}

/** Takes its versions with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('guardrail_versions')
    .where('organisation_id', '=', organisationId)
    .where('guardrail_id', '=', id)
    .execute();
  await tx
    .deleteFrom('guardrails')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}
