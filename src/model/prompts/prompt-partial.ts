/** Knows the bodies by which partials, the parts that prompts share, are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';

export const PartialStatus = z.enum(['active', 'archived']);

/** What one version of a partial says, as stored. */
export interface PartialContent {
  readonly string: string;
  readonly version_description: string | null;
}

/** Body of POST /prompts/partials. */
export const PromptPartialCreate = z.object({
  name: ResourceName,
  string: described(z.string().min(1), 'The template that stands for {{>slug}} in prompts.'),
  workspace_id: WorkspaceReference.optional(),
  slug: described(
    Slug.optional(),
    'Short name by which prompts include it; made from the name when left out.',
  ),
  version_description: described(
    freeText(500).nullable().optional(),
    'What is new in the first version.',
  ),
});
export type PromptPartialCreate = z.infer<typeof PromptPartialCreate>;

/** Body of PUT /prompts/partials/{id}; absent fields stay, null clears. */
export const PromptPartialUpdate = z.object({
  name: ResourceName.optional(),
  string: z.string().min(1).optional(),
  version_description: freeText(500).nullable().optional(),
  status: PartialStatus.optional(),
});
export type PromptPartialUpdate = z.infer<typeof PromptPartialUpdate>;
