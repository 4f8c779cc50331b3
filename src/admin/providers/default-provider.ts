/** Creates the default provider of a workspace when it is granted access to an integration. */
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import { type Author, recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { insertUnderSlug } from '../request/slugs.ts';

export const providerSlugForm = { prefix: '', nameLengthMax: 40 };

/** Author and integration of the provider. */
interface DefaultProviderContext {
  readonly deps: Pick<AdminDeps, 'audit'>;
  readonly author: Author;
  readonly integration: Pick<StoredIntegration, 'id' | 'organisation_id' | 'slug' | 'name'>;
}

/**
 * Creates a provider unless the workspace has one of this integration. Its slug is that of the
 * integration, or a generated one when another provider has that slug.
 *
 * @throws ApiError `conflict` when the requested slug is taken
 */
export async function ensureProvider(
  tx: Db,
  { deps, author, integration }: DefaultProviderContext,
  workspaceId: string,
  requestedSlug: string | undefined,
): Promise<void> {
  const { organisation_id: organisationId, id: integrationId, name } = integration;
  const place = { integrationId, workspaceId };
  if (await providers.existsOf(tx, organisationId, place)) return;
  const preferred = requestedSlug ?? integration.slug;
  const holders = await providers.listByReference(tx, organisationId, workspaceId, preferred);
  const isTaken = holders.length > 0;
  if (isTaken && requestedSlug !== undefined) {
    throw new ApiError('conflict', undefined, 'default_provider_slug');
  }
  const unnamed = {
    id: newId(),
    organisation_id: organisationId,
    workspace_id: workspaceId,
    integration_id: integrationId,
    name,
    note: 'Created automatically on integration access grant',
    usage_limits: null,
    rate_limits: null,
    expires_at: null,
    last_reset_at: null,
    tags: null,
    creation_mode: 'auto' as const,
    created_at: author.now,
    last_updated_at: author.now,
  };
  const chosen = isTaken ? undefined : preferred;
  const row = await insertUnderSlug(providerSlugForm, chosen, unnamed, (named) =>
    providers.insert(tx, named),
  );
  await recordChange(tx, deps, author, {
    action: 'create',
    kind: 'Provider',
    resourceId: row.id,
    workspaceId,
    changes: { name, with_integration: integrationId },
  });
}
