/** Knows the bodies by which labels of versions of prompts are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, WorkspaceReference } from '../wire/resource-fields.ts';

/** Stands behind the `@` of a prompt, where digits and two words mean versions themselves. */
const LabelName = z
  .string()
  .max(255)
  .regex(
    /^(?!(?:latest|default|\d+)$)[a-zA-Z0-9_-]+$/,
    'must hold letters, digits, - and _ only, and be neither a number, latest nor default',
  );

/** Body of POST /labels. */
export const PromptLabelCreate = z.object({
  name: described(LabelName, 'Name behind the @ of a prompt: `welcome@staging`.'),
  workspace_id: WorkspaceReference.optional(),
  description: described(freeText(500).nullable().optional(), 'What the label is for.'),
  color_code: described(
    z
      .string()
      .regex(/^#?[a-zA-Z0-9]{1,31}$/, 'must be a colour such as #2f6fde')
      .nullable()
      .optional(),
    'Colour in which it is shown.',
  ),
});
export type PromptLabelCreate = z.infer<typeof PromptLabelCreate>;

/** Body of PUT /labels/{id}; absent fields stay, null clears. */
export const PromptLabelUpdate = z.object({
  name: LabelName.optional(),
  description: PromptLabelCreate.shape.description,
  color_code: PromptLabelCreate.shape.color_code,
});
export type PromptLabelUpdate = z.infer<typeof PromptLabelUpdate>;
