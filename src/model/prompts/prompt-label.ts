/** Defines the bodies that create and update labels of prompt versions. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, WorkspaceReference } from '../wire/resource-fields.ts';

/** Follows the `@` of a prompt reference, where digits, `latest` and `default` select versions themselves. */
const LabelName = z
  .string()
  .max(255)
  .regex(
    /^(?!(?:latest|default|\d+)$)[a-zA-Z0-9_-]+$/,
    'must contain letters, digits, - and _ only, and must not be a number, latest or default',
  );

/** Body of POST /labels. */
export const PromptLabelCreate = z.object({
  name: described(LabelName, 'Name after the @ in a prompt reference: `welcome@staging`.'),
  workspace_id: WorkspaceReference.optional(),
  description: described(freeText(500).nullable().optional(), 'Purpose of the label.'),
  color_code: described(
    z
      .string()
      .regex(/^#?[a-zA-Z0-9]{1,31}$/, 'must be a colour such as #2f6fde')
      .nullable()
      .optional(),
    'Display colour.',
  ),
});
export type PromptLabelCreate = z.infer<typeof PromptLabelCreate>;

/** Body of PUT /labels/{id}: an absent field is unchanged, null clears it. */
export const PromptLabelUpdate = z.object({
  name: LabelName.optional(),
  description: PromptLabelCreate.shape.description,
  color_code: PromptLabelCreate.shape.color_code,
});
export type PromptLabelUpdate = z.infer<typeof PromptLabelUpdate>;
