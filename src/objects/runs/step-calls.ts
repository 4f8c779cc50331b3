/** Knows what a step keeps of what the model has called: functions that the caller runs, and searches that the gateway does. */
import { type FileSearchTool, fileSearchName } from '../../model/objects/run-tool.ts';

/** A call of a function that its caller has to run. */
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
  /** As the model has written them; callers are not told. */
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

/** What the model has called, where it may call this tool; null for none. */
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
    ...{ id, type: fileSearchName, arguments: called.arguments },
    file_search: {
      ranking_options: { ranker: 'default_2024_08_21', score_threshold: threshold },
    },
  };
}

/** As the model has called it, and is told of it again. */
export function asFunction(call: StepCall): FunctionCall {
  const { name, arguments: given } = isSearch(call)
    ? { name: fileSearchName, arguments: call.arguments }
    : call.function;
  return { id: call.id, type: 'function', function: { name, arguments: given } };
}

/** Of a step that tells of calls. */
export function callsIn(details: string): readonly StepCall[] {
  const { tool_calls: calls = [] } = JSON.parse(details) as {
    readonly tool_calls?: readonly StepCall[];
  };
  return calls;
}

/** What its caller has handed in for it; null for nothing yet. */
export function outputOf({ function: called }: FunctionCall): unknown {
  return (called as { readonly output?: unknown }).output;
}

/** As they are stored: functions with what they have yielded, null for what is not known yet. */
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

/** As callers get it; texts that were found only where they ask for them. */
export function shownCall(call: StepCall, showsTexts: boolean): object {
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
