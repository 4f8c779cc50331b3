/** Resolves the collection, workspace and provider of a prompt. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as providers from '../../store/resources/providers.ts';
import { resolveWorkspaceForWrite } from '../request/scoping.ts';

type Collection = promptCollections.StoredPromptCollection;

/**
 * The collection of a new prompt, locked with its workspace until the transaction ends. The workspace is
 * that of the request, or the collection's own when the request names none.
 *
 * @throws ApiError `invalid`, `notFound`, `forbidden`
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
      const message = 'is required unless a workspace is named';
      throw validationError({ path: ['collection_id'], message });
    }
    const collection = await promptCollections.findDefault(tx, organisationId, workspace.id);
    if (collection === undefined) throw new ApiError('notFound', undefined, 'collection_id');
    return collection;
  }
  if (workspace !== null) return findWithin(tx, organisationId, workspace.id, reference);
  const seen = await promptCollections.findByIdOrSlug(tx, organisationId, reference);
  if (seen === undefined) throw new ApiError('notFound', undefined, 'collection_id');
  // The workspace is locked first, in the same order as when it is deleted.
  await resolveWorkspaceForWrite(tx, caller, seen.workspace_id, 'shared');
  return findWithin(tx, organisationId, seen.workspace_id, seen.id);
}

/** @throws ApiError `notFound`, also for a collection of another workspace */
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
 * Returns the slug of a provider named by id. A slug is returned unchanged and resolved when the prompt is
 * used, as in configs.
 *
 * @throws ApiError `invalid` for an id that is not a provider of the workspace
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
  const [provider] = await providers.listByReference(tx, organisationId, workspaceId, name);
  if (provider === undefined) {
    throw validationError({ path: ['virtual_key'], message: 'is not a known provider' });
  }
  return provider.slug;
}
