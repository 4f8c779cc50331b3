/** Connects the health probes to the database, the clock and the state of the process. */
import { findMissingMasterKey } from '../../auth/data-keys.ts';
import type { MasterKeys } from '../../auth/master-keys.ts';
import type { SharedClock } from '../../clock.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Database } from '../../store/connection/db.ts';
import { tryWrite } from '../../store/resources/deployment.ts';
import { readSchemaStatus } from '../../store/schema-status.ts';
import { type ProbeSources, probeRoutes } from './probes.ts';
import { createWriteCheck } from './write-check.ts';

interface ProbeParts {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  readonly clock: SharedClock;
}

export function createProbes(
  { database, masterKeys, clock }: ProbeParts,
  state: Pick<
    ProbeSources,
    | 'link'
    | 'isConnected'
    | 'isDraining'
    | 'servesWithoutDatabase'
    | 'configurationAgeSeconds'
    | 'spoolFault'
  >,
): readonly Route<null>[] {
  return probeRoutes({
    ...state,
    ping: () => database.ping(),
    isReaderInUse: () => database.isReaderInUse(),
    schemaState: async () => (await readSchemaStatus(database.db)).state,
    missingMasterKey: () => findMissingMasterKey(database.readable, masterKeys),
    takesWrites: createWriteCheck({
      writeRefusedAtMs: () => database.writeRefusedAtMs(),
      tryWrite: () => tryWrite(database.db, clock.now()),
    }),
    readClock: () => clock.measure(),
  });
}
