/** Knows where a prompt lies and whom it asks: its collection, workspace and provider. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { isUuid } from '../../model/wire/slug.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as providers from '../../store/resources/providers.ts';
import { resolveWorkspaceForWrite } from '../request/scoping.ts';

type Collection = promptCollections.StoredPromptCollection;

/**
 * The collection that a new prompt is to lie in, which stays until the transaction ends, as does its
 * workspace: that of the request, or the collection's own where the request names none.
 *
 * @throws ApiError
 */
export async function collectionFor(
  tx: Db,
  caller: Principal,
  workspace: { readonly id: string } | null,
  reference: string | undefined,
): Promise<Collection> {
  const { organisationId } = caller;
  if (reference === undefined) {
    if (workspace === null) {
      const message = 'is required where no workspace is named';
      throw validationError({ path: ['collection_id'], message });
    }
    const found = await promptCollections.findDefault(tx, organisationId, workspace.id);
    if (found === undefined) throw new ApiError('notFound', undefined, 'collection_id');
    return found;
  }
  if (workspace !== null) return findWithin(tx, organisationId, workspace.id, reference);
  const seen = await promptCollections.findByIdOrSlug(tx, organisationId, reference);
  if (seen === undefined) throw new ApiError('notFound', undefined, 'collection_id');
  // Before the collection, as whoever deletes the workspace takes them.
  await resolveWorkspaceForWrite(tx, caller, seen.workspace_id, 'shared');
  return findWithin(tx, organisationId, seen.workspace_id, seen.id);
}

/** @throws ApiError `notFound` for one of another workspace, as for none */
export async function findWithin(
  tx: Db,
  organisationId: string,
  workspaceId: string,
  reference: string,
): Promise<Collection> {
  const row = await promptCollections.findByIdOrSlugForShare(tx, organisationId, reference);
  if (row?.workspace_id !== workspaceId) {
    throw new ApiError('notFound', undefined, 'collection_id');
  }
  return row;
}

/**
 * A provider that is named by its id, by its slug; a slug is looked up when the prompt is used, as in
 * configs.
 *
 * @throws ApiError `invalid` for an id of none of the workspace
 */
export async function providerSlug<Reference extends string | null | undefined>(
  tx: Db,
  organisationId: string,
  workspaceId: string,
  reference: Reference,
): Promise<Reference | string> {
  if (typeof reference !== 'string') return reference;
  const name = reference.replace(/^@/, '');
  if (!isUuid(name)) return name;
  const [found] = await providers.listByReference(tx, organisationId, workspaceId, name);
  if (found === undefined) {
    throw validationError({ path: ['virtual_key'], message: 'names an unknown provider' });
  }
  return found.slug;
}
