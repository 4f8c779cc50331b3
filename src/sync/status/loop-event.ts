/** Defines the events of a sync loop: looks, cycles, drift and failures. */
import type { Failure } from '../../failure.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import type { SourceVersion } from '../source/source-files.ts';

/** The outcome of a look at the source. */
export type LookOutcome =
  | { readonly kind: 'standby' }
  | { readonly kind: 'seen'; readonly version: SourceVersion; readonly isRetryPending: boolean }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type LoopEvent =
  | {
      readonly kind: 'cycle';
      readonly result: CycleResult;
      readonly durationMs: number;
      /** Time of the next retry, ms since the epoch; null when none is due. */
      readonly retryAt: number | null;
      /** False when the same changes wait as after the last cycle, and nothing else happened. */
      readonly isNews: boolean;
      readonly sourceFailure: Failure | null;
      /**
       * Whether a guard holds back the whole version and this cycle only restored what was applied
       * before.
       */
      readonly isVersionHeld: boolean;
    }
  | {
      /** A pass that found drift and left it alone, or found none. */
      readonly kind: 'drift';
      readonly result: CycleResult;
      readonly durationMs: number;
      /** Whether the drift differs from the last time. */
      readonly isNews: boolean;
      /** The fault of the newest version while the last valid one replaces it; else null. */
      readonly sourceFailure: Failure | null;
      /**
       * Whether a guard holds back the whole version and this is drift from what was applied
       * before.
       */
      readonly isVersionHeld: boolean;
    }
  | {
      /** Sent once for as long as the reason stays the same. */
      readonly kind: 'failure';
      readonly failure: Failure;
      /** Null when only an edit of the source resolves it; what was applied last stays in force. */
      readonly retryAt: number | null;
    };
