/** Sets the seed of the run as the default seed of all property tests. */
import fc from 'fast-check';
import { seed } from './test-effort.ts';

fc.configureGlobal({ seed });
