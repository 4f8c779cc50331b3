/** Defines the tools of assistants and runs: functions that callers run, and file search, which the gateway runs. */
import { z } from 'zod';

/** Tools of an assistant or of a run. */
export const toolsMax = 20;
const storesMax = 5;
const functionName = /^[\w-]{1,64}$/;

/** The tool name of file search, as models call it. */
export const fileSearchName = 'file_search';

interface FunctionTool {
  readonly type: 'function';
  readonly function: Readonly<Record<string, unknown>> & { readonly name: string };
}

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string().regex(functionName, 'must be 1 to 64 letters, digits, dashes or underscores'),
    description: z.string().max(1024).optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().nullable().optional(),
  }),
});

const FileSearchTool = z.strictObject({
  type: z.literal(fileSearchName),
  file_search: z
    .strictObject({
      max_num_results: z.int().min(1).max(50).optional(),
      ranking_options: z
        .strictObject({
          ranker: z.enum(['auto', 'default_2024_08_21']).optional(),
          score_threshold: z.number().min(0).max(1),
        })
        .optional(),
    })
    .optional(),
});
export type FileSearchTool = z.infer<typeof FileSearchTool>;

export type RunTool = FunctionTool | FileSearchTool;

const refusal = 'code_interpreter is not supported: declare a function and run it yourself';

/** Rejects an unsupported type before the other fields are checked. */
const Tool = z.unknown().transform((value, context): RunTool => {
  const type = (value as { readonly type?: unknown } | null)?.type;
  const isUnsupported = type === 'code_interpreter';
  const read = (type === fileSearchName ? FileSearchTool : FunctionTool).safeParse(value);
  if (!isUnsupported && read.success) return read.data;
  const issues = isUnsupported ? [{ path: ['type'], message: refusal }] : read.error!.issues;
  for (const { path, message } of issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

export const Tools = z
  .array(Tool)
  .max(toolsMax)
  .refine(
    (tools) => tools.filter(isFileSearch).length < 2,
    `must contain at most one ${fileSearchName}`,
  )
  .refine(
    (tools) =>
      !tools.some(isFileSearch) ||
      tools.every((tool) => isFileSearch(tool) || tool.function.name !== fileSearchName),
    `must not contain a function ${fileSearchName} next to the tool of this name`,
  );

export function isFileSearch(tool: RunTool): tool is FileSearchTool {
  return tool.type === fileSearchName;
}

/** Resources of tools. A run uses those of its assistant and those of its thread. */
export const ToolResources = z.strictObject({
  file_search: z
    .strictObject({
      vector_store_ids: z.array(z.string().min(1).max(255)).max(storesMax).optional(),
      vector_stores: z
        .array(z.unknown())
        .max(0, 'is not supported: create a vector store and list it in vector_store_ids')
        .optional(),
    })
    .nullable()
    .optional(),
  code_interpreter: z
    .strictObject({
      file_ids: z.array(z.unknown()).max(0, 'must be empty: code is not run here').optional(),
    })
    .nullable()
    .optional(),
});
export type ToolResources = z.infer<typeof ToolResources>;

export function vectorStoreIdsIn(resources: ToolResources | null | undefined): readonly string[] {
  return resources?.file_search?.vector_store_ids ?? [];
}
