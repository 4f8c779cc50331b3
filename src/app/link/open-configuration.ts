/** Opens the configuration of gateways: from the database and the saved snapshot, or from the control plane. */
import type { Clock } from '../../clock.ts';
import type { RunningSnapshot } from '../../snapshot/open-snapshot.ts';
import type { Database } from '../../store/connection/db.ts';
import {
  type ConfigurationSource,
  configurationSource,
  linkedConfiguration,
} from '../../store/reads/configuration-source.ts';
import { databaseReads } from '../../store/reads/database-reads.ts';
import type { ProcessState } from '../outages/process-state.ts';
import type { ProcessLink } from './process-link.ts';

interface ConfigurationParts {
  readonly state: ProcessState;
  readonly database: Database;
  /** Null when no snapshot is kept. */
  readonly snapshot: RunningSnapshot | null;
  readonly clock: Clock;
}

/** Time without an answer of the control plane after which linked gateways are in an outage. */
const awayAfterMs = 15_000;

/** By the snapshot of the control plane in a process without a database. */
export function openConfiguration(
  { state, database, snapshot, clock }: ConfigurationParts,
  link: ProcessLink | null,
): ConfigurationSource {
  const now = (): number => clock.now();
  if (link !== null && snapshot !== null) {
    return linkedConfiguration({ snapshot: snapshot.source, awayAfterMs, now });
  }
  return configurationSource({
    database: databaseReads(database.readable, state.requireConnection),
    isDatabaseAway: () => !state.isConnected || database.isAway(),
    suspectDatabase: () => database.suspect(),
    snapshot: snapshot?.source ?? null,
  });
}
