/** Builds the JSON document of a cycle for `-o json` and `--report`. */
import { type CycleOutcome, resultDocument } from '../../sync/report/document.ts';
import { exitCodes } from '../shared/exit-codes.ts';

export function cycleDocument(result: CycleOutcome): Record<string, unknown> {
  return { ...resultDocument(result), exitCode: exitCodes[result.ending] };
}
