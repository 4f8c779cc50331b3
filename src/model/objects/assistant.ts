/** Knows the bodies by which assistants are made and changed, and the terms that a run takes over of them. */
import { z } from 'zod';
import { type RunTool, ToolResources, Tools } from './run-tool.ts';

const metadataEntriesMax = 16;

export const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine(
    (given) => Object.keys(given).length <= metadataEntriesMax,
    `must have at most ${metadataEntriesMax} entries`,
  );

const ResponseFormat = z.union([
  z.enum(['auto', 'none']),
  z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }),
]);

/** What an assistant says of how a model is asked, and a run may say otherwise. */
export const modelTerms = {
  model: z.string().min(1).max(256),
  instructions: z.string().max(256_000).nullable(),
  tools: Tools,
  temperature: z.number().min(0).max(2).nullable(),
  top_p: z.number().min(0).max(1).nullable(),
  response_format: ResponseFormat.nullable(),
  reasoning_effort: z.string().max(32).nullable(),
};

const naming = {
  name: z.string().max(256).nullable().optional(),
  description: z.string().max(512).nullable().optional(),
  metadata: Metadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
};

/** Body of POST /assistants. */
export const AssistantCreate = z.strictObject({
  ...z.object(modelTerms).partial().shape,
  ...naming,
  model: modelTerms.model,
});

/** Body of POST /assistants/{id}; absent fields stay. */
export const AssistantUpdate = z.strictObject({
  ...z.object(modelTerms).partial().shape,
  ...naming,
});

/** How a model is asked, as an assistant says it. */
export interface AssistantTerms {
  readonly model: string;
  readonly instructions: string | null;
  readonly tools: readonly RunTool[];
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly response_format: z.infer<typeof ResponseFormat> | null;
  readonly reasoning_effort: string | null;
  readonly tool_resources: ToolResources;
}
