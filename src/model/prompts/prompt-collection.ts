/** Knows the bodies by which collections of prompts are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug, type SlugForm } from '../wire/slug.ts';

export const collectionSlugForm: SlugForm = { prefix: 'co', nameLengthMax: 6 };

/** Of the collection that every workspace has. */
export const defaultCollectionName = 'Default';

const Parent = described(
  z.string().min(1).max(255).nullable().optional(),
  'Collection that it lies in, by UUID or slug.',
);

/** Body of POST /collections. */
export const PromptCollectionCreate = z.object({
  name: ResourceName,
  workspace_id: WorkspaceReference.optional(),
  parent_collection_id: Parent,
  slug: described(Slug.optional(), 'Short name in addresses; made from the name when left out.'),
});
export type PromptCollectionCreate = z.infer<typeof PromptCollectionCreate>;

/** Body of PUT /collections/{id}; null takes it out of the one that it lies in. */
export const PromptCollectionUpdate = z.object({
  name: ResourceName.optional(),
  parent_collection_id: Parent,
});
export type PromptCollectionUpdate = z.infer<typeof PromptCollectionUpdate>;
