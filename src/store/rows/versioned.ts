/** Knows the columns that every resource's table has in common. */
import type { Generated } from 'kysely';

/** `version` counts writes, times are milliseconds since the epoch. */
export interface Versioned {
  version: Generated<number>;
  created_at: number;
  last_updated_at: number;
}
