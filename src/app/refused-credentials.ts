/** Knows where refused credentials are counted by the process: the audit log, its figures, and a log that tells when rows have to wait. */
import { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { auditTrail } from '../store/tables/audit-log.ts';
import { isDuplicateEntry } from '../store/tables/duplicate.ts';
import * as organisations from '../store/tables/organisations.ts';
import type { Metrics } from './metrics.ts';

export function createRefusedCredentials(
  {
    settings,
    database,
    clock,
    log,
  }: {
    readonly settings: Pick<Settings, 'features'>;
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
  },
  { observeRefused: observe }: Pick<Metrics, 'observeRefused'>,
  requireConnection: () => void,
): RefusedCredentials {
  const { auditLogs: isKept } = settings.features;
  const write = auditTrail(isKept);
  return new RefusedCredentials({
    ...{ isKept, observe, now: () => clock.now() },
    findOrganisation: async (tsgId) => {
      requireConnection();
      return (await organisations.findByTsgId(database.db, tsgId))?.id;
    },
    write: async ({ id, organisationId, at, changes }) => {
      requireConnection();
      const what = { action: 'refuse', resourceKind: 'Credential', resourceId: '', requestId: '' };
      const who = { actorKind: 'system', actorId: 'authentication', workspaceId: null } as const;
      try {
        await write(database.db, [{ id, organisationId, at, ...who, ...what, changes }]);
      } catch (error) {
        // It was there already: only the answer was lost.
        if (!isDuplicateEntry(error)) throw error;
      }
    },
    onFailure: (err) =>
      log.warn({ err }, 'refused credentials wait to be written to the audit log'),
  });
}
