/** Knows what a loop tells: what each look came to, cycles, drift and failures. */
import type { Failure } from '../../failure.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import type { SourceVersion } from '../source/source-files.ts';

/** What a look came to. */
export type Look =
  | { readonly kind: 'standby' }
  | { readonly kind: 'seen'; readonly version: SourceVersion; readonly isRetryPending: boolean }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type WatchEvent =
  | {
      readonly kind: 'cycle';
      readonly result: CycleResult;
      readonly durationMs: number;
      /** When it is tried again, ms since the epoch; null when it is settled. */
      readonly retryAt: number | null;
      /** False where the same waits as the last time, and nothing else is to be told. */
      readonly isNews: boolean;
      readonly wrong: Failure | null;
      /** The version is held back as a whole, and this only brought back what was applied before. */
      readonly isBeside: boolean;
    }
  | {
      /** What a pass found and left alone; also when it found nothing. */
      readonly kind: 'drift';
      readonly result: CycleResult;
      readonly durationMs: number;
      /** Whether it is other than the last time. */
      readonly isNews: boolean;
      /** What is wrong with the newest version, for which the last that was right has stood; else null. */
      readonly wrong: Failure | null;
      /** The version is held back as a whole, and this is what others changed of what was applied before. */
      readonly isBeside: boolean;
    }
  | {
      /** Told once for as long as the same reason holds. */
      readonly kind: 'failure';
      readonly failure: Failure;
      /** Null: only a change of the source mends it; what was applied last stays. */
      readonly retryAt: number | null;
    };
