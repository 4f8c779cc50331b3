/** Lists every invariant, in the order of the report. */
import { answerInvariants } from './answers.ts';
import type { Invariant } from './invariant.ts';
import { jobInvariants } from './jobs.ts';
import { processInvariants } from './processes.ts';
import { promiseInvariants } from './promises.ts';
import { secretInvariants } from './secrets.ts';
import { usageInvariants } from './usage.ts';

export const everyInvariant: readonly Invariant[] = [
  ...promiseInvariants,
  ...usageInvariants,
  ...jobInvariants,
  ...secretInvariants,
  ...answerInvariants,
  ...processInvariants,
];
