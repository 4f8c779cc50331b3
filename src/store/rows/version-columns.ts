/** Columns of every resource's table. */
import type { Generated } from 'kysely';

/** `version` is incremented by every write; times are milliseconds since the epoch. */
export interface VersionColumns {
  version: Generated<number>;
  created_at: number;
  last_updated_at: number;
}
