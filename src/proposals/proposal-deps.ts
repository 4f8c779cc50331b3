/** Defines what the handlers of proposals use. */
import type { AdminDeps } from '../admin/request/deps.ts';
import type { Forge } from './forges/create-forge.ts';
import type { Planner } from './planning/planner.ts';

export interface ProposalDeps {
  readonly admin: AdminDeps;
  readonly planner: Planner;
  /** Null where no Git host is configured. */
  readonly forge: Forge | null;
}
