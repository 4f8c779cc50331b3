/** Defines the options of a migration run. */
import type { Log } from '../../log.ts';

export interface MigrateOptions {
  readonly log: Log;
  readonly signal?: AbortSignal;
  /** Folder of the `.sql` files; default: the folder of the package. */
  readonly directory?: string;
  /** A runner that stops extending its lease is replaced after this long; default 30 s. */
  readonly leaseTtlMs?: number;
  /** Interval at which the lease is extended; default: a sixth of its duration. */
  readonly heartbeatMs?: number;
  /** How long a statement waits for a table lock before it is retried; 5 to 30, default 10. */
  readonly lockWaitSeconds?: number;
  /** Called before each statement. */
  readonly onStep?: (step: { migration: string; number: number; total: number }) => void;
}
