/** Implements file search for runs: the function for the model, the search, its results and citations. */
import { z } from 'zod';
import type { RunTerms } from '../../model/objects/run.ts';
import { type FileSearchTool, fileSearchName, isFileSearch } from '../../model/objects/run-tool.ts';
import type { FileCitation } from '../../model/objects/thread.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { ModelCalls } from '../model-calls.ts';
import type { Owner } from '../owner.ts';
import type { StoreSearch, StoreSearchFailure, TextMatch } from '../store-search.ts';
import { failureOf, type RunFailure } from './run-failure.ts';
import { callsIn, isSearch, type SearchCall, type StepCall } from './step-calls.ts';

const defaultResults = 20;
/** Maximum characters of the results of one search. */
const resultCharsMax = 64_000;
const queryCharsMax = 4_000;

const Queries = z.object({ queries: z.array(z.string().min(1).max(queryCharsMax)).min(1).max(16) });

/** The function declared to models. */
export const searchFunction = {
  type: 'function',
  function: {
    name: fileSearchName,
    description:
      'Searches the files of this conversation for passages. Each passage in the result has a mark such as 【3:0†source】: copy its mark right after any text that you take from it.',
    parameters: {
      type: 'object',
      properties: {
        queries: {
          type: 'array',
          items: { type: 'string' },
          description: 'What to search for, in full sentences; several if the question has parts.',
        },
      },
      required: ['queries'],
    },
  },
} as const;

/** Null if the run cannot search. */
export function searchToolOf({
  tools,
  vector_store_ids: ids,
}: Pick<RunTerms, 'tools' | 'vector_store_ids'>): FileSearchTool | null {
  return ids.length === 0 ? null : (tools.find(isFileSearch) ?? null);
}

export interface SearchOptions {
  readonly search: StoreSearch;
  readonly owner: Owner;
  readonly terms: RunTerms;
  readonly models: ModelCalls;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Executes the searches of a step and returns its calls with their results. */
export async function runSearches(
  { details }: StoredStep,
  options: SearchOptions,
): Promise<readonly StepCall[] | RunFailure> {
  const calls: StepCall[] = [];
  for (const call of callsIn(details)) {
    const done = isSearch(call) ? await runSearch(call, options) : call;
    if ('message' in done) return failureOf(done);
    calls.push(done);
  }
  return calls;
}

/** Adds the results to a call; invalid arguments yield no results, and the model is informed. */
async function runSearch(
  call: SearchCall,
  { search, owner, terms, models, now }: SearchOptions,
): Promise<SearchCall | StoreSearchFailure> {
  const queries = queriesOf(call);
  const limit = searchToolOf(terms)?.file_search?.max_num_results ?? defaultResults;
  const scoreMin = call.file_search.ranking_options.score_threshold;
  const matches =
    queries === null
      ? []
      : await search.search(owner, terms.vector_store_ids, {
          queries,
          filters: null,
          limit,
          scoreMin,
          models,
          now,
        });
  if ('message' in matches) return matches;
  const results = bestMatches(matches).map(({ fileId, filename, score, text }) => ({
    file_id: fileId,
    file_name: filename,
    score,
    content: [{ type: 'text' as const, text }],
  }));
  return { ...call, file_search: { ...call.file_search, results } };
}

/** Keeps as many results as fit, at least the best one. */
function bestMatches(matches: readonly TextMatch[]): readonly TextMatch[] {
  let chars = 0;
  const end = matches.findIndex(({ text }) => {
    chars += text.length;
    return chars > resultCharsMax;
  });
  return end < 0 ? matches : matches.slice(0, Math.max(1, end));
}

/** Null for invalid arguments. */
function queriesOf(call: SearchCall): readonly string[] | null {
  try {
    return Queries.parse(JSON.parse(call.arguments)).queries;
  } catch {
    return null;
  }
}

/** The text for the model with the results of each search of a step, by call id. */
export function searchOutputs(step: StoredStep): Map<string, string> {
  const marked = markedResults(step);
  return new Map(
    callsIn(step.details)
      .filter(isSearch)
      .map((call) => {
        const own = marked.filter((entry) => entry.callId === call.id);
        const texts = own.map(({ mark, result }) =>
          [`${mark} ${result.file_name}`, ...result.content.map(({ text }) => text)].join('\n'),
        );
        const none =
          queriesOf(call) === null
            ? 'The arguments must be {"queries": ["what to search for"]}'
            : 'No results';
        return [call.id, texts.join('\n\n') || none];
      }),
  );
}

/** Finds the marks of search results in a text. */
export function citationsIn(text: string, steps: readonly StoredStep[]): FileCitation[] {
  const files = new Map(
    steps.flatMap(markedResults).map(({ mark, result }) => [mark, result.file_id]),
  );
  if (files.size === 0) return [];
  return [...text.matchAll(/【\d+:\d+†source】/g)].flatMap(({ 0: mark, index }) => {
    const fileId = files.get(mark);
    if (fileId === undefined) return [];
    return [
      {
        type: 'file_citation' as const,
        text: mark,
        start_index: index,
        end_index: index + mark.length,
        file_citation: { file_id: fileId },
      },
    ];
  });
}

function markedResults({ place, details }: StoredStep) {
  return callsIn(details)
    .filter(isSearch)
    .flatMap(({ id, file_search: { results = [] } }) =>
      results.map((result) => ({ callId: id, result })),
    )
    .map((entry, number) => ({ ...entry, mark: `【${place}:${number}†source】` }));
}
