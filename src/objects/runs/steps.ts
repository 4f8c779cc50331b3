/** Answers requests for the steps of a run. */
import type { Db } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import { ObjectError, type ObjectResponse } from '../object-request.ts';
import { respondWithPage } from './pages.ts';
import { stepRecord } from './records.ts';

/** Value of `include[]` that requests the texts of search results. */
const includeResultTexts = 'step_details.tool_calls[*].file_search.results[*].content';

/** Returns one step, or a page of all. */
export async function handleSteps(
  db: Db,
  query: URLSearchParams,
  run: StoredRun,
  id: string | undefined,
): Promise<ObjectResponse> {
  const showsTexts = query.getAll('include[]').includes(includeResultTexts);
  if (id === undefined) {
    return respondWithPage(query, {
      find: (anchorId) => runSteps.find(db, run, anchorId),
      list: (page) => runSteps.list(db, run, page),
      record: (step) => stepRecord(step, showsTexts),
    });
  }
  const step = await runSteps.find(db, run, id);
  if (step === undefined) throw new ObjectError('not_found', 'The run has no step with this id');
  return { body: stepRecord(step, showsTexts) };
}
