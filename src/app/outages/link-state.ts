/** Reports to probes and metrics whether the control plane answers, and which database a linked process has. */
import type { Database } from '../../store/connection/db.ts';
import type { ConfigurationSource } from '../../store/reads/configuration-source.ts';
import type { ProcessState } from './process-state.ts';

/** The region's own database. */
export interface RegionState {
  readonly database: Database;
  /** Whether the database is verified. */
  readonly isProven: () => boolean;
}

export interface LinkState {
  /** False until the control plane has sent the configuration. */
  readonly isConnected: () => boolean;
  /** Whether the control plane has not confirmed the configuration for a while. */
  readonly isAway: () => boolean;
  /** Null for a gateway that has no database at all. */
  readonly region: RegionState | null;
}

/** Null for a process of home. */
export function linkState(parts: {
  readonly link: Pick<LinkState, 'region'> | null;
  readonly state: ProcessState;
  readonly configuration: Pick<ConfigurationSource, 'isDatabaseAway'>;
}): LinkState | null {
  const { link, state, configuration } = parts;
  return (
    link && {
      isConnected: () => state.isLinked,
      isAway: () => configuration.isDatabaseAway(),
      region: link.region,
    }
  );
}
