/** Defines the tool calls of a step: functions that the caller runs, and searches that the gateway runs. */
import { type FileSearchTool, fileSearchName } from '../../model/objects/run-tool.ts';

/** A call of a function that the caller must run. */
export interface FunctionCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

interface SearchResult {
  readonly file_id: string;
  readonly file_name: string;
  readonly score: number;
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
}

export interface SearchCall {
  readonly id: string;
  readonly type: 'file_search';
  /** As the model has written them; not shown to callers. */
  readonly arguments: string;
  readonly file_search: {
    readonly ranking_options: { readonly ranker: string; readonly score_threshold: number };
    /** Absent until the search is done. */
    readonly results?: readonly SearchResult[];
  };
}

export type StepCall = FunctionCall | SearchCall;

export function isSearch(call: StepCall): call is SearchCall {
  return call.type === fileSearchName;
}

/** Converts calls of file search if the run has the tool; `tool` is null otherwise. */
export function stepCalls(
  calls: readonly FunctionCall[],
  tool: FileSearchTool | null,
): readonly StepCall[] {
  return calls.map((call) =>
    tool !== null && call.function.name === fileSearchName ? searchCall(call, tool) : call,
  );
}

function searchCall({ id, function: called }: FunctionCall, tool: FileSearchTool): SearchCall {
  const threshold = tool.file_search?.ranking_options?.score_threshold ?? 0;
  return {
    id,
    type: fileSearchName,
    arguments: called.arguments,
    file_search: {
      ranking_options: { ranker: 'default_2024_08_21', score_threshold: threshold },
    },
  };
}

/** The call as the model made it, for the next prompt. */
export function asFunction(call: StepCall): FunctionCall {
  const { name, arguments: args } = isSearch(call)
    ? { name: fileSearchName, arguments: call.arguments }
    : call.function;
  return { id: call.id, type: 'function', function: { name, arguments: args } };
}

/** Parses the calls in the details of a step. */
export function callsIn(details: string): readonly StepCall[] {
  const { tool_calls: calls = [] } = JSON.parse(details) as {
    readonly tool_calls?: readonly StepCall[];
  };
  return calls;
}

/** The output that the caller has submitted; null if there is none yet. */
export function outputOf({ function: called }: FunctionCall): unknown {
  return (called as { readonly output?: unknown }).output;
}

/** Details of a step for storage; the output of a function is null until it is submitted. */
export function callsDetails(
  calls: readonly StepCall[],
  outputs: ReadonlyMap<string, string>,
): string {
  return JSON.stringify({
    type: 'tool_calls',
    tool_calls: calls.map((call) =>
      isSearch(call)
        ? call
        : { ...call, function: { ...call.function, output: outputs.get(call.id) ?? null } },
    ),
  });
}

/** The call as shown to callers; texts of search results are included only on request. */
export function callForResponse(call: StepCall, showsTexts: boolean): object {
  if (!isSearch(call)) return call;
  const { arguments: _, file_search: search, ...rest } = call;
  const results = search.results?.map(({ content, ...result }) =>
    showsTexts ? { ...result, content } : result,
  );
  return {
    ...rest,
    file_search: { ...search, ...(results === undefined ? {} : { results }) },
  };
}
