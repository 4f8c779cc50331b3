/** Refuses snapshots that are older than the operator allows. */
import type { Clock } from '../../clock.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';

interface AgeLimitOptions {
  /** Null for no limit. */
  readonly maxAgeMs: number | null;
  readonly clock: Clock;
  readonly onRefused: (refused: SnapshotRefused) => void;
}

export class AgeLimit {
  readonly #options: AgeLimitOptions;
  #isReported = false;

  constructor(options: AgeLimitOptions) {
    this.#options = options;
  }

  /** @throws SnapshotRefused for a snapshot that was last the newest one too long ago */
  require(confirmedAtMs: number): void {
    const { maxAgeMs, clock } = this.#options;
    const ageMs = clock.now() - confirmedAtMs;
    if (maxAgeMs === null || ageMs <= maxAgeMs) return;
    const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
    throw new SnapshotRefused(
      'stale',
      `it is ${seconds(ageMs)} old, and GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS allows ${seconds(maxAgeMs)}`,
    );
  }

  /** As {@link require}; reports the first time. */
  isExceeded(confirmedAtMs: number | null): boolean {
    try {
      if (confirmedAtMs !== null) this.require(confirmedAtMs);
      return false;
    } catch (error) {
      if (!this.#isReported) this.#options.onRefused(error as SnapshotRefused);
      this.#isReported = true;
      return true;
    }
  }

  noteConfirmed(): void {
    this.#isReported = false;
  }
}
