/** Defines the bodies that create and update assistants, and the terms that a run takes from its assistant. */
import { z } from 'zod';
import { type RunTool, ToolResources, Tools } from './run-tool.ts';

const metadataEntriesMax = 16;

export const ObjectMetadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine(
    (entries) => Object.keys(entries).length <= metadataEntriesMax,
    `must have at most ${metadataEntriesMax} entries`,
  );

const ResponseFormat = z.union([
  z.enum(['auto', 'none']),
  z.looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) }),
]);

/** Model parameters of an assistant, which a run can override. */
export const modelTerms = {
  model: z.string().min(1).max(256),
  instructions: z.string().max(256_000).nullable(),
  tools: Tools,
  temperature: z.number().min(0).max(2).nullable(),
  top_p: z.number().min(0).max(1).nullable(),
  response_format: ResponseFormat.nullable(),
  reasoning_effort: z.string().max(32).nullable(),
};

const sharedFields = {
  name: z.string().max(256).nullable().optional(),
  description: z.string().max(512).nullable().optional(),
  metadata: ObjectMetadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
};

/** Body of POST /assistants. */
export const AssistantCreate = z.strictObject({
  ...z.object(modelTerms).partial().shape,
  ...sharedFields,
  model: modelTerms.model,
});

/** Body of POST /assistants/{id}; an absent field is unchanged. */
export const AssistantUpdate = z.strictObject({
  ...z.object(modelTerms).partial().shape,
  ...sharedFields,
});

/** Model parameters and resources of an assistant. */
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
