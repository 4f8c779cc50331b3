/** Knows the JSON document of one cycle, as `-o json` and `--report` write it. */
import type { CycleResult } from '../../sync/reconcile.ts';
import { resultDocument } from '../../sync/report/document.ts';
import { exitCodes } from './exit-codes.ts';

export function cycleDocument(result: CycleResult): Record<string, unknown> {
  return { ...resultDocument(result), exitCode: exitCodes[result.ending] };
}
