/** Defines the bodies that create and continue runs, the terms of a run, and their bounds. */
import { z } from 'zod';
import { type AssistantTerms, modelTerms, ObjectMetadata } from './assistant.ts';
import { fileSearchName, ToolResources, vectorStoreIdsIn } from './run-tool.ts';
import { Messages, ThreadCreate } from './thread.ts';

/** A run that has not ended after this time expires. */
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
    'requires last_messages if and only if its type is last_messages',
  );

/** A bound of a run's tokens. */
export const boundTokens = z.int().min(boundTokensMin).nullable().optional();

const runFields = {
  ...z.object(modelTerms).partial().shape,
  model: modelTerms.model.nullable().optional(),
  tools: modelTerms.tools.nullable().optional(),
  assistant_id: z.string().min(1).max(255),
  metadata: ObjectMetadata.nullable().optional(),
  max_prompt_tokens: boundTokens,
  max_completion_tokens: boundTokens,
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

/** The model parameters of a run; fixed for its lifetime. */
export interface RunTerms extends Omit<AssistantTerms, 'tool_resources'> {
  readonly max_prompt_tokens: number | null;
  readonly max_completion_tokens: number | null;
  readonly truncation_strategy: { readonly type: string; readonly last_messages: number | null };
  readonly tool_choice: z.infer<typeof ToolChoice>;
  readonly parallel_tool_calls: boolean;
  /** Stores of the assistant and of the thread when the run was created. */
  readonly vector_store_ids: readonly string[];
}

/** Combines the body of a run with its assistant's terms; the body takes precedence. */
export function runTermsOf(
  body: RunCreate | ThreadAndRunCreate,
  assistant: AssistantTerms,
  threadResources: ToolResources | null,
): RunTerms {
  const runResources = 'tool_resources' in body ? body.tool_resources : null;
  const stores = [
    ...vectorStoreIdsIn(runResources ?? assistant.tool_resources),
    ...vectorStoreIdsIn(threadResources),
  ];
  const more = 'additional_instructions' in body ? body.additional_instructions : null;
  const instructions = body.instructions ?? assistant.instructions;
  return {
    model: body.model ?? assistant.model,
    instructions: [instructions, more].filter((text) => text != null && text !== '').join('\n\n'),
    tools: body.tools ?? assistant.tools,
    temperature: body.temperature ?? assistant.temperature,
    top_p: body.top_p ?? assistant.top_p,
    response_format: body.response_format ?? assistant.response_format,
    reasoning_effort: body.reasoning_effort ?? assistant.reasoning_effort,
    max_prompt_tokens: body.max_prompt_tokens ?? null,
    max_completion_tokens: body.max_completion_tokens ?? null,
    truncation_strategy: {
      type: body.truncation_strategy?.type ?? 'auto',
      last_messages: body.truncation_strategy?.last_messages ?? null,
    },
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    vector_store_ids: [...new Set(stores)],
  };
}
