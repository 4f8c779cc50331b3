/** Knows the bodies by which prompts are made, changed and published. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { Flag, freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';

/** By UUID or slug. */
const Reference = z.string().min(1).max(255);
const Calls = z.array(JsonRecord).max(128).nullable();
const Choice = z.union([z.string().max(64), JsonRecord]).nullable();
const Raw = z.union([Flag, z.boolean()]);
const Description = freeText(500).nullable();

/** Body of POST /prompts. */
export const PromptCreate = z.object({
  name: ResourceName,
  collection_id: described(
    Reference.optional(),
    "Collection that holds it, by UUID or slug; the workspace's default one when left out.",
  ),
  workspace_id: WorkspaceReference.optional(),
  slug: described(Slug.optional(), 'Short name in addresses; made from the name when left out.'),
  string: described(
    z.string().min(1),
    'The template: messages of a chat as JSON, or a text, with {{variables}} and {{>partials}}.',
  ),
  parameters: described(JsonRecord.optional(), 'What goes to the model beside the messages.', {
    examples: [{ temperature: 0.2 }],
  }),
  model: described(z.string().min(1).max(255).nullable().optional(), 'Model that is asked.'),
  virtual_key: described(
    Reference.nullable().optional(),
    'Provider that is asked, by UUID or slug.',
  ),
  functions: described(Calls.optional(), 'Functions that the model may call.'),
  tools: described(Calls.optional(), 'Tools that the model may call.'),
  tool_choice: described(Choice.optional(), 'Which of the tools it is to call.'),
  template_metadata: described(
    JsonRecord.nullable().optional(),
    'Facts for people and tools; `template_type: completion` makes a text a prompt of no chat.',
  ),
  is_raw_template: described(
    Raw.optional(),
    'Whether the template is JSON once it is filled in, and need not be before.',
  ),
  version_description: described(Description.optional(), 'What is new in the first version.'),
});
export type PromptCreate = z.infer<typeof PromptCreate>;

/** Body of PUT /prompts/{id}; absent fields stay, null clears. */
export const PromptUpdate = z.object({
  name: ResourceName.optional(),
  collection_id: Reference.optional(),
  string: z.string().min(1).optional(),
  /** Null is sent by clients that change nothing of them. */
  parameters: JsonRecord.nullable().optional(),
  model: z.string().min(1).max(255).nullable().optional(),
  virtual_key: Reference.nullable().optional(),
  functions: Calls.optional(),
  tools: Calls.optional(),
  tool_choice: Choice.optional(),
  template_metadata: JsonRecord.nullable().optional(),
  is_raw_template: Raw.optional(),
  version_description: Description.optional(),
});
export type PromptUpdate = z.infer<typeof PromptUpdate>;

/** Body of PUT …/makeDefault. */
export const Publication = z.object({ version: z.int().min(1).max(4_294_967_295) });

/** Body of PUT /prompts/{id}/versions/{versionId}; null takes the label off. */
export const PromptVersionUpdate = z.object({ label_id: z.uuid().nullable().optional() });

/** Body of POST /prompts/{id}/render: further fields count before the parameters of the prompt. */
export const PromptRender = z
  .object({ variables: JsonRecord.optional() })
  .catchall(z.unknown() as z.ZodType<z.core.util.JSONType>);
