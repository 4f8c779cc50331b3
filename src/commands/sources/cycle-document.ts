/** Knows the JSON document of one cycle, as `-o json` and `--report` write it. */
import { type Outcome, resultDocument } from '../../sync/report/document.ts';
import { exitCodes } from '../shared/exit-codes.ts';

export function cycleDocument(result: Outcome): Record<string, unknown> {
  return { ...resultDocument(result), exitCode: exitCodes[result.ending] };
}
