/** Knows the provider that a workspace gets with its access to an integration, so that it can begin at once. */
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import * as providers from '../../store/resources/providers.ts';
import { type Author, recordChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';
import { insertUnderSlug } from '../request/slugs.ts';

export const providerSlugForm = { prefix: '', nameLengthMax: 40 };

/** Who makes it, of what. */
interface Making {
  readonly deps: Pick<AdminDeps, 'audit'>;
  readonly author: Author;
  readonly integration: Pick<StoredIntegration, 'id' | 'organisation_id' | 'slug' | 'name'>;
}

/**
 * Makes one unless the workspace has a provider of this integration already. It takes the slug of the
 * integration, or one made of its name where another provider has that.
 *
 * @throws ApiError `conflict` where the slug that was asked for is taken.
 */
export async function ensureProvider(
  tx: Db,
  { deps, author, integration }: Making,
  workspaceId: string,
  askedSlug: string | undefined,
): Promise<void> {
  const { organisation_id: organisationId, id: integrationId, name } = integration;
  const place = { integrationId, workspaceId };
  if (await providers.existsOf(tx, organisationId, place)) return;
  const wanted = askedSlug ?? integration.slug;
  const having = await providers.listByReference(tx, organisationId, workspaceId, wanted);
  const isTaken = having.length > 0;
  if (isTaken && askedSlug !== undefined) {
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
    creation_mode: 'auto' as const,
    created_at: author.now,
    last_updated_at: author.now,
  };
  const chosen = isTaken ? undefined : wanted;
  const row = await insertUnderSlug(providerSlugForm, chosen, unnamed, (given) =>
    providers.insert(tx, given),
  );
  await recordChange(tx, deps, author, {
    action: 'create',
    kind: 'Provider',
    resourceId: row.id,
    workspaceId,
    changes: { name, with_integration: integrationId },
  });
}
