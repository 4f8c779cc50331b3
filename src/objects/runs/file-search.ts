/** Knows the search that a run does for its model: how that calls it, what it is told, and how it names where a text is from. */
import { z } from 'zod';
import type { RunTerms } from '../../model/objects/run.ts';
import { type FileSearchTool, fileSearchName, isFileSearch } from '../../model/objects/run-tool.ts';
import type { FileCitation } from '../../model/objects/thread.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { ModelCalls } from '../model-calls.ts';
import type { Owner } from '../owner.ts';
import type { FoundText, StoreSearch, StoreSearchFailure } from '../store-search.ts';
import { failureOf, type RunFailure } from './run-failure.ts';
import { callsIn, isSearch, type SearchCall, type StepCall } from './step-calls.ts';

const resultsUsual = 20;
/** Of what one search finds, all texts together. */
const foundCharsMax = 64_000;
const queryCharsMax = 4_000;

const Queries = z.object({ queries: z.array(z.string().min(1).max(queryCharsMax)).min(1).max(16) });

/** As models are told of it. */
export const searchFunction = {
  type: 'function',
  function: {
    name: fileSearchName,
    description:
      'Searches the files of this conversation for passages. Each passage that is found has a mark such as 【3:0†source】: copy its mark right behind whatever you take from it.',
    parameters: {
      type: 'object',
      properties: {
        queries: {
          type: 'array',
          items: { type: 'string' },
          description: 'What to look for, in full sentences; several where the question has parts.',
        },
      },
      required: ['queries'],
    },
  },
} as const;

/** Null where the run searches nothing. */
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

/** What a step has called, with what its searches have found. */
export async function searchStep(
  { details }: StoredStep,
  options: SearchOptions,
): Promise<readonly StepCall[] | RunFailure> {
  const calls: StepCall[] = [];
  for (const call of callsIn(details)) {
    const done = isSearch(call) ? await searched(call, options) : call;
    if ('message' in done) return failureOf(done);
    calls.push(done);
  }
  return calls;
}

/** With its results; arguments that are none find nothing, and the model is told so. */
async function searched(
  call: SearchCall,
  { search, owner, terms, models, now }: SearchOptions,
): Promise<SearchCall | StoreSearchFailure> {
  const queries = queriesOf(call);
  const limit = searchToolOf(terms)?.file_search?.max_num_results ?? resultsUsual;
  const scoreMin = call.file_search.ranking_options.score_threshold;
  const found =
    queries === null
      ? []
      : await search.search(owner, terms.vector_store_ids, {
          ...{ queries, filters: null, limit, scoreMin, models, now },
        });
  if ('message' in found) return found;
  const results = best(found).map(({ fileId, filename, score, text }) => ({
    ...{ file_id: fileId, file_name: filename, score },
    content: [{ type: 'text' as const, text }],
  }));
  return { ...call, file_search: { ...call.file_search, results } };
}

/** As many as are told, the best at least. */
function best(found: readonly FoundText[]): readonly FoundText[] {
  let chars = 0;
  const end = found.findIndex(({ text }) => {
    chars += text.length;
    return chars > foundCharsMax;
  });
  return end < 0 ? found : found.slice(0, Math.max(1, end));
}

/** Null for what are none. */
function queriesOf(call: SearchCall): readonly string[] | null {
  try {
    return Queries.parse(JSON.parse(call.arguments)).queries;
  } catch {
    return null;
  }
}

/** What the model is told of each search of a step, by the id of its call. */
export function toldSearches(step: StoredStep): Map<string, string> {
  const marked = markedResults(step);
  return new Map(
    callsIn(step.details)
      .filter(isSearch)
      .map((call) => {
        const own = marked.filter((one) => one.callId === call.id);
        const told = own.map(({ mark, result }) =>
          [`${mark} ${result.file_name}`, ...result.content.map(({ text }) => text)].join('\n'),
        );
        const none =
          queriesOf(call) === null
            ? 'The arguments must be {"queries": ["what to look for"]}'
            : 'Nothing was found';
        return [call.id, told.join('\n\n') || none];
      }),
  );
}

/** Marks of what the run has found that stand in the text. */
export function citationsIn(text: string, steps: readonly StoredStep[]): FileCitation[] {
  const files = new Map(
    steps.flatMap(markedResults).map(({ mark, result }) => [mark, result.file_id]),
  );
  if (files.size === 0) return [];
  return [...text.matchAll(/【\d+:\d+†source】/g)].flatMap(({ 0: mark, index }) => {
    const fileId = files.get(mark);
    if (fileId === undefined) return [];
    const place = { start_index: index, end_index: index + mark.length };
    return [
      { type: 'file_citation' as const, text: mark, ...place, file_citation: { file_id: fileId } },
    ];
  });
}

function markedResults({ place, details }: StoredStep) {
  return callsIn(details)
    .filter(isSearch)
    .flatMap(({ id, file_search: { results = [] } }) =>
      results.map((result) => ({ callId: id, result })),
    )
    .map((one, number) => ({ ...one, mark: `【${place}:${number}†source】` }));
}
