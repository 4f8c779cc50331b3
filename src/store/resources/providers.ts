/** Table functions for providers: the handles of workspaces on integrations. Slugs are unique within a workspace. */
import { type Selectable, sql } from 'kysely';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import type { Db } from '../connection/db.ts';
import { readReference } from '../rows/references.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, type WorkspaceContents } from '../rows/workspace-contents.ts';
import { removalOfBudgets } from '../usage/usage-budgets.ts';
import {
  findWithGrant,
  type IntegrationWithGrant,
  type StoredIntegration,
} from './integrations.ts';
import type { ReadableReference, SecretReferenceWithWorkspaces } from './secret-references.ts';
import * as secretReferences from './secret-references.ts';

interface ProviderRow extends VersionColumns {
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
  /** JSON; null for a provider without tags of its own. */
  tags: string | null;
  /** `auto` for a provider that was created with access to its integration and not changed since. */
  creation_mode: 'api' | 'auto';
}

declare module '../connection/db.ts' {
  interface Tables {
    providers: ProviderRow;
  }
}

/** A provider as stored. */
export type StoredProvider = Selectable<ProviderRow>;

const table = resourceTable('providers');

export const { insert, list, listAllForOrganisation, update, deleteById } = table;

/** Includes its budget and its counters. */
export const contents: WorkspaceContents = {
  ...contentsOf('Provider', 'providers', (at) => removalOfBudgets('provider', 'providers', at)),
  automatic: ({ organisationId }) => sql`creation_mode = 'auto' and id not in (
    select resource_id from managed_resources
    where organisation_id = ${organisationId} and kind = 'Provider')`,
};

/** Up to two providers by id or slug, in one workspace or (null) in all: two show that a slug is ambiguous. */
export function listByReference(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<StoredProvider[]> {
  return table.rows.list(db, whereOf(organisationId, workspaceId, reference), { limit: 2 });
}

export type ProviderSlug = Pick<StoredProvider, 'id' | 'slug'>;

/** More providers are not listed for one request. */
export const namesMax = 100;

/** Providers of one workspace or (null) of all, by slug. */
export function listSlugs(
  db: Db,
  organisationId: string,
  workspaceId: string | null,
): Promise<ProviderSlug[]> {
  const where = {
    organisation_id: organisationId,
    ...(workspaceId === null ? {} : { workspace_id: workspaceId }),
  };
  return table.rows.list(db, where, {
    columns: ['id', 'slug'],
    orderBy: ['slug', 'id'],
    limit: namesMax,
  });
}

/** As {@link listByReference}; locks the rows until the transaction ends. */
export function listByReferenceForUpdate(
  tx: Db,
  organisationId: string,
  workspaceId: string | null,
  reference: string,
): Promise<StoredProvider[]> {
  const where = whereOf(organisationId, workspaceId, reference);
  return table.rows.list(tx, where, { limit: 2, lock: 'update' });
}

function whereOf(organisationId: string, workspaceId: string | null, reference: string) {
  const { column, value } = readReference(reference);
  return {
    organisation_id: organisationId,
    [column]: value,
    ...(workspaceId === null ? {} : { workspace_id: workspaceId }),
  };
}

/** Whether a workspace has a provider of an integration. */
export function existsOf(
  db: Db,
  organisationId: string,
  { integrationId, workspaceId }: { readonly integrationId: string; readonly workspaceId: string },
): Promise<boolean> {
  return table.rows.exists(db, {
    organisation_id: organisationId,
    integration_id: integrationId,
    workspace_id: workspaceId,
  });
}

/** Providers of an integration; locks them until the transaction ends. */
export const listByIntegrationForUpdate = table.rows.listBy(['organisation_id', 'integration_id'], {
  orderBy: ['id'],
  lock: 'update',
});

/** A provider with everything that a request to it needs. */
export interface ReachedProvider extends Pick<IntegrationWithGrant, 'grant'> {
  readonly provider: Omit<StoredProvider, 'note'>;
  readonly integration: Omit<StoredIntegration, 'description' | 'key_mask'>;
  /** Secret references from which the integration takes values. */
  readonly references: readonly ReadableReference[];
}

/**
 * Up to two providers by id or slug, in one workspace or (null) in all, each with its integration. Secrets
 * of the integration are sealed: see auth/integration-secrets.ts. The caller checks whether the workspace
 * may use the integration: see model/providers/integration-access.ts.
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
): Promise<SecretReferenceWithWorkspaces[]> {
  const ids = new Set(readMappings(mappings).map(({ reference_id: id }) => id));
  const rows = await secretReferences.listByIds(db, organisationId, [...ids]);
  return secretReferences.withWorkspaces(db, organisationId, rows);
}
