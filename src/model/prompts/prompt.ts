/** Defines the bodies that create, update, publish and render prompts. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { freeText, LooseFlag, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { OptionalSlug } from '../wire/slug.ts';

/** By UUID or slug. */
const Reference = z.string().min(1).max(255);
const Calls = z.array(JsonRecord).max(128).nullable();
const Choice = z.union([z.string().max(64), JsonRecord]).nullable();
const Description = freeText(500).nullable();

/** Body of POST /prompts. */
export const PromptCreate = z.object({
  name: ResourceName,
  collection_id: described(
    Reference.optional(),
    "Collection of the prompt, by UUID or slug; the workspace's default collection if omitted.",
  ),
  workspace_id: WorkspaceReference.optional(),
  slug: OptionalSlug,
  string: described(
    z.string().min(1),
    'The template: chat messages as JSON, or a text, with {{variables}} and {{>partials}}.',
  ),
  parameters: described(JsonRecord.optional(), 'Model parameters besides the messages.', {
    examples: [{ temperature: 0.2 }],
  }),
  model: described(z.string().min(1).max(255).nullable().optional(), 'Model of the request.'),
  virtual_key: described(
    Reference.nullable().optional(),
    'Provider of the request, by UUID or slug.',
  ),
  functions: described(Calls.optional(), 'Functions that the model may call.'),
  tools: described(Calls.optional(), 'Tools that the model may call.'),
  tool_choice: described(Choice.optional(), 'Tool that the model must call.'),
  template_metadata: described(
    JsonRecord.nullable().optional(),
    'Metadata for people and tools; `template_type: completion` renders a text as a completion prompt.',
  ),
  is_raw_template: described(
    LooseFlag.optional(),
    'Whether the template becomes JSON only when its variables are filled in.',
  ),
  version_description: described(Description.optional(), 'Description of the first version.'),
});
export type PromptCreate = z.infer<typeof PromptCreate>;

/** Body of PUT /prompts/{id}: an absent field is unchanged, null clears it. */
export const PromptUpdate = PromptCreate.omit({ slug: true, workspace_id: true }).partial().extend({
  /** Null leaves the parameters unchanged, because clients send it for unchanged parameters. */
  parameters: JsonRecord.nullable().optional(),
  version_description: Description.optional(),
});
export type PromptUpdate = z.infer<typeof PromptUpdate>;

/** Body of PUT …/makeDefault. */
export const PromptPublish = z.object({ version: z.int().min(1).max(4_294_967_295) });

/** Body of PUT /prompts/{id}/versions/{versionId}; null removes the label. */
export const PromptVersionUpdate = z.object({ label_id: z.uuid().nullable().optional() });

/** Body of POST /prompts/{id}/render; other fields override the parameters of the prompt. */
export const PromptRender = z
  .object({ variables: JsonRecord.optional() })
  .catchall(z.unknown() as z.ZodType<z.core.util.JSONType>);
