/** Knows where properties draw their cases from, unless they say so themselves: the one seed of the run. */
import fc from 'fast-check';
import { seed } from './test-effort.ts';

fc.configureGlobal({ seed });
