/** Defines the bodies that create and update partials, which are templates shared by prompts. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';

export const PartialStatus = z.enum(['active', 'archived']);

/** The content of one version of a partial, as stored. */
export interface PartialContent {
  readonly string: string;
  readonly version_description: string | null;
}

/** Body of POST /prompts/partials. */
export const PromptPartialCreate = z.object({
  name: ResourceName,
  string: described(z.string().min(1), 'The template that replaces {{>slug}} in prompts.'),
  workspace_id: WorkspaceReference.optional(),
  slug: described(
    Slug.optional(),
    'Short name by which prompts include the partial; generated from the name if omitted.',
  ),
  version_description: described(
    freeText(500).nullable().optional(),
    'Description of the first version.',
  ),
});
export type PromptPartialCreate = z.infer<typeof PromptPartialCreate>;

/** Body of PUT /prompts/partials/{id}: an absent field is unchanged, null clears it. */
export const PromptPartialUpdate = z.object({
  name: ResourceName.optional(),
  string: z.string().min(1).optional(),
  version_description: freeText(500).nullable().optional(),
  status: PartialStatus.optional(),
});
export type PromptPartialUpdate = z.infer<typeof PromptPartialUpdate>;
