/** Knows the bodies by which assistants are made and changed, and the terms that a run takes over of them. */
import { z } from 'zod';

const toolsMax = 20;
const metadataEntriesMax = 16;
const functionName = /^[\w-]{1,64}$/;

interface FunctionTool {
  readonly type: 'function';
  readonly function: Readonly<Record<string, unknown>> & { readonly name: string };
}

const refusedTools: Readonly<Record<string, string>> = {
  code_interpreter: 'code_interpreter is not run here: declare a function and run it yourself',
  file_search: 'file_search is not run here: declare a function and search yourself',
};

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string().regex(functionName, 'must be 1 to 64 letters, digits, dashes or underscores'),
    description: z.string().max(1024).optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().nullable().optional(),
  }),
});

/** A kind that is not run here is refused before its fields are looked at. */
const Tool = z.unknown().transform((value, context): FunctionTool => {
  const type = (value as { readonly type?: unknown } | null)?.type;
  const refusal = typeof type === 'string' ? refusedTools[type] : undefined;
  const read = FunctionTool.safeParse(value);
  if (refusal === undefined && read.success) return read.data;
  const issues =
    refusal === undefined ? read.error!.issues : [{ path: ['type'], message: refusal }];
  for (const { path, message } of issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

const Tools = z.array(Tool).max(toolsMax);

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

/** Nothing is kept that a model could search. */
export const NoToolResources = z
  .unknown()
  .refine(
    (given) => given === undefined || given === null || Object.keys(given).length === 0,
    'must be left out: no tools are run here that search files or run code',
  )
  .optional();

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
  tool_resources: NoToolResources,
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
  readonly tools: readonly FunctionTool[];
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly response_format: z.infer<typeof ResponseFormat> | null;
  readonly reasoning_effort: string | null;
}
