/** Defines the bodies that create and update collections of prompts. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { OptionalSlug } from '../wire/slug.ts';
import type { SlugForm } from '../wire/slug-forms.ts';

export const collectionSlugForm: SlugForm = { prefix: 'co', nameLengthMax: 6 };

/** Name of the collection that every workspace has. */
export const defaultCollectionName = 'Default';

const Parent = described(
  z.string().min(1).max(255).nullable().optional(),
  'Parent collection, by UUID or slug.',
);

/** Body of POST /collections. */
export const PromptCollectionCreate = z.object({
  name: ResourceName,
  workspace_id: WorkspaceReference.optional(),
  parent_collection_id: Parent,
  slug: OptionalSlug,
});
export type PromptCollectionCreate = z.infer<typeof PromptCollectionCreate>;

/** Body of PUT /collections/{id}; a null parent moves the collection to the top level. */
export const PromptCollectionUpdate = z.object({
  name: ResourceName.optional(),
  parent_collection_id: Parent,
});
export type PromptCollectionUpdate = z.infer<typeof PromptCollectionUpdate>;
