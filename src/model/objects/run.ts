/** Knows the bodies by which runs are made and go on, their terms, and the bounds of both. */
import { z } from 'zod';
import { type AssistantTerms, Metadata, modelTerms } from './assistant.ts';
import { fileSearchName, ToolResources, vectorStoreIdsIn } from './run-tool.ts';
import { Messages, ThreadCreate } from './thread.ts';

/** After this a run that has not ended has expired. */
export const runLifetimeMs = 600_000;
const boundTokensMin = 256;
const outputCharsMax = 512_000;
const outputsMax = 128;

const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({ name: z.string().min(1).max(64) }),
  }),
  z.strictObject({ type: z.literal(fileSearchName) }),
]);

const Truncation = z
  .strictObject({
    type: z.enum(['auto', 'last_messages']),
    last_messages: z.int().min(1).nullable().optional(),
  })
  .refine(
    ({ type, last_messages: last }) => (type === 'last_messages') === (typeof last === 'number'),
    'says last_messages if, and only if, its type does',
  );

const bound = z.int().min(boundTokensMin).nullable().optional();

const runFields = {
  ...z.object(modelTerms).partial().shape,
  model: modelTerms.model.nullable().optional(),
  tools: modelTerms.tools.nullable().optional(),
  assistant_id: z.string().min(1).max(255),
  metadata: Metadata.nullable().optional(),
  max_prompt_tokens: bound,
  max_completion_tokens: bound,
  truncation_strategy: Truncation.nullable().optional(),
  tool_choice: ToolChoice.nullable().optional(),
  parallel_tool_calls: z.boolean().optional(),
  stream: z.boolean().nullable().optional(),
};

/** Body of POST /threads/{id}/runs. */
export const RunCreate = z.strictObject({
  ...runFields,
  additional_instructions: z.string().max(256_000).nullable().optional(),
  additional_messages: Messages.nullable().optional(),
});
export type RunCreate = z.infer<typeof RunCreate>;

/** Body of POST /threads/runs. */
export const ThreadAndRunCreate = z.strictObject({
  ...runFields,
  thread: ThreadCreate.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
});
export type ThreadAndRunCreate = z.infer<typeof ThreadAndRunCreate>;

/** Body of POST /threads/{id}/runs/{id}/submit_tool_outputs. */
export const ToolOutputsSubmit = z.strictObject({
  tool_outputs: z
    .array(
      z.strictObject({
        tool_call_id: z.string().min(1).max(255),
        output: z.string().max(outputCharsMax),
      }),
    )
    .max(outputsMax),
  stream: z.boolean().nullable().optional(),
});
export type ToolOutputsSubmit = z.infer<typeof ToolOutputsSubmit>;

/** How a run asks its model, from its beginning to its end. */
export interface RunTerms extends Omit<AssistantTerms, 'tool_resources'> {
  readonly max_prompt_tokens: number | null;
  readonly max_completion_tokens: number | null;
  readonly truncation_strategy: { readonly type: string; readonly last_messages: number | null };
  readonly tool_choice: z.infer<typeof ToolChoice>;
  readonly parallel_tool_calls: boolean;
  /** Of the assistant and the thread, as they were when the run was made. */
  readonly vector_store_ids: readonly string[];
}

/** What a run says counts before what its assistant says. */
export function runTermsOf(
  asked: RunCreate | ThreadAndRunCreate,
  own: AssistantTerms,
  ofThread: ToolResources | null,
): RunTerms {
  const given = 'tool_resources' in asked ? asked.tool_resources : null;
  const stores = [...vectorStoreIdsIn(given ?? own.tool_resources), ...vectorStoreIdsIn(ofThread)];
  const more = 'additional_instructions' in asked ? asked.additional_instructions : null;
  const instructions = asked.instructions ?? own.instructions;
  return {
    model: asked.model ?? own.model,
    instructions: [instructions, more].filter((text) => text != null && text !== '').join('\n\n'),
    tools: asked.tools ?? own.tools,
    temperature: asked.temperature ?? own.temperature,
    top_p: asked.top_p ?? own.top_p,
    response_format: asked.response_format ?? own.response_format,
    reasoning_effort: asked.reasoning_effort ?? own.reasoning_effort,
    max_prompt_tokens: asked.max_prompt_tokens ?? null,
    max_completion_tokens: asked.max_completion_tokens ?? null,
    truncation_strategy: {
      type: asked.truncation_strategy?.type ?? 'auto',
      last_messages: asked.truncation_strategy?.last_messages ?? null,
    },
    tool_choice: asked.tool_choice ?? 'auto',
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    vector_store_ids: [...new Set(stores)],
  };
}
