/** Knows how callers look at the steps of a run. */
import type { Db } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import { type ObjectAnswer, ObjectError } from '../object-request.ts';
import { answerPage } from './pages.ts';
import { stepRecord } from './records.ts';

/** What a request includes, to be shown the texts that a search has found. */
const foundTexts = 'step_details.tool_calls[*].file_search.results[*].content';

/** One of them, or a page of all. */
export async function answerSteps(
  db: Db,
  query: URLSearchParams,
  run: StoredRun,
  id: string | undefined,
): Promise<ObjectAnswer> {
  const showsTexts = query.getAll('include[]').includes(foundTexts);
  if (id === undefined) {
    return answerPage(query, {
      find: (one) => runSteps.find(db, run, one),
      list: (page) => runSteps.list(db, run, page),
      record: (step) => stepRecord(step, showsTexts),
    });
  }
  const step = await runSteps.find(db, run, id);
  if (step === undefined) throw new ObjectError('not_found', 'The run has no step of this id');
  return { body: stepRecord(step, showsTexts) };
}
