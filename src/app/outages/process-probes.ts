/** Connects the health probes to the database, the clock and the state of the process. */
import { findMissingMasterKey } from '../../auth/data-keys.ts';
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { SharedClock } from '../../clock.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Database } from '../../store/connection/db.ts';
import { tryWrite } from '../../store/resources/deployment.ts';
import { readSchemaStatus } from '../../store/schema-status.ts';
import type { LinkState } from './link-state.ts';
import { type DatabaseSources, type ProbeSources, probeRoutes } from './probes.ts';
import { createWriteCheck } from './write-check.ts';

interface ProbeParts {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  readonly clock: SharedClock;
}

export function createProbes(
  { database, masterKeys, clock }: ProbeParts,
  {
    link,
    ...state
  }: { readonly link: LinkState | null } & Pick<
    ProbeSources,
    | 'isConnected'
    | 'isDraining'
    | 'servesWithoutDatabase'
    | 'configurationAgeSeconds'
    | 'spoolFault'
  >,
): readonly Route<null>[] {
  return probeRoutes({
    ...state,
    ...databaseSources(database, clock),
    link,
    region: link?.region
      ? { ...databaseSources(link.region.database, clock), isProven: link.region.isProven }
      : null,
    isReaderInUse: () => database.isReaderInUse(),
    missingMasterKey: () => findMissingMasterKey(database.readable, masterKeys),
    readClock: () => clock.measure(),
  });
}

function databaseSources(database: Database, clock: SharedClock): DatabaseSources {
  return {
    ping: () => database.ping(),
    schemaState: async () => (await readSchemaStatus(database.db)).state,
    takesWrites: createWriteCheck({
      writeRefusedAtMs: () => database.writeRefusedAtMs(),
      tryWrite: () => tryWrite(database.db, clock.now()),
    }),
  };
}
