/** Knows the providers table: integrations as workspaces use them. Slugs are unique within a workspace. */
import { type Selectable, sql } from 'kysely';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import type { Db } from '../connection/db.ts';
import { readReference } from '../rows/references.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, type WorkspaceContents } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';
import {
  findWithGrant,
  type IntegrationWithGrant,
  type StoredIntegration,
} from './integrations.ts';
import type { PlacedSecretReference } from './secret-references.ts';
import * as secretReferences from './secret-references.ts';

interface ProviderRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  integration_id: string;
  slug: string;
  name: string;
  note: string | null;
  usage_limits: string | null;
  rate_limits: string | null;
  expires_at: number | null;
  last_reset_at: number | null;
  /** `auto` for the one that came with access to its integration and was not changed since. */
  creation_mode: 'api' | 'auto';
}

declare module '../connection/db.ts' {
  interface Tables {
    providers: ProviderRow;
  }
}

/** A provider as stored. */
export type StoredProvider = Selectable<ProviderRow>;

export const { insert, list, listAllForOrganisation, update, deleteById } =
  resourceTable('providers');

/** With its budget and what was counted for it. */
export const contents: WorkspaceContents = {
  ...contentsOf('Provider', 'providers', (at) => removalOfBudgets('provider', 'providers', at)),
  unasked: ({ organisationId }) => sql`creation_mode = 'auto' and id not in (
    select resource_id from managed_resources
    where organisation_id = ${organisationId} and kind = 'Provider')`,
};

/** By id, or by slug in one workspace or, with null, in all: at most two, which are enough to know of several. */
export function listByReference(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<StoredProvider[]> {
  return referred(db, organisationId, workspaceId, reference).execute();
}

/** As {@link listByReference}; they stay until the transaction ends. */
export function listByReferenceForUpdate(
  tx: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<StoredProvider[]> {
  return referred(tx, organisationId, workspaceId, reference).forUpdate().execute();
}

function referred(db: Db, organisationId: string, workspaceId: string | null, reference: string) {
  const { column, value } = readReference(reference);
  return db
    .selectFrom('providers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where(column, '=', value)
    .$if(workspaceId !== null, (rows) => rows.where('workspace_id', '=', workspaceId!))
    .limit(2);
}

/** Whether a workspace has a provider of an integration. */
export async function existsOf(
  db: Db,
  organisationId: string,
  { integrationId, workspaceId }: { readonly integrationId: string; readonly workspaceId: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('providers')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('integration_id', '=', integrationId)
    .where('workspace_id', '=', workspaceId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Those made of an integration, which stay until the transaction ends. */
export function listByIntegrationForUpdate(
  tx: Db,
  organisationId: string,
  integrationId: string,
): Promise<StoredProvider[]> {
  return tx
    .selectFrom('providers')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('integration_id', '=', integrationId)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** All of a provider that a request to it has to know. */
export interface ReachedProvider extends IntegrationWithGrant {
  readonly provider: StoredProvider;
  /** Those that the integration takes values from. */
  readonly references: readonly PlacedSecretReference[];
}

/**
 * The providers that a request may mean by an id or slug, in one workspace or, with null, in all: at
 * most two. Each has its integration, whose secrets are sealed (auth/integration-secrets.ts). Whether its
 * workspace may use that: model/integration-access.ts.
 */
export async function listReached(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<ReachedProvider[]> {
  const named = await listByReference(db, organisationId, workspaceId, reference);
  const found = await Promise.all(
    named.map(async (provider) => {
      const { integration_id: id, workspace_id } = provider;
      const reached = await findWithGrant(db, organisationId, { id, workspaceId: workspace_id });
      if (reached === undefined) return undefined;
      const references = await referencesOf(db, reached.integration);
      return { provider, ...reached, references };
    }),
  );
  return found.filter((reached) => reached !== undefined);
}

async function referencesOf(
  db: Db,
  { organisation_id: organisationId, secret_mappings: mappings }: StoredIntegration,
): Promise<PlacedSecretReference[]> {
  const ids = new Set(readMappings(mappings).map(({ reference_id: id }) => id));
  const rows = await secretReferences.listByIds(db, organisationId, [...ids]);
  return secretReferences.withWorkspaces(db, organisationId, rows);
}
