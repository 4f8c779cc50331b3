/** Creates the listener at which gateways without a database connect to this control plane, or to this region. */
import type { SharedClock } from '../../clock.ts';
import { bankRoutes } from '../../control-link/bank-routes.ts';
import { createLinkListener, type LinkListenerOptions } from '../../control-link/link-listener.ts';
import { logRoute } from '../../control-link/log-route.ts';
import { recordRoute } from '../../control-link/record-route.ts';
import { sealedSnapshotRoutes } from '../../control-link/snapshot-routes.ts';
import { timeRoute } from '../../control-link/time-route.ts';
import { totalsRoute } from '../../control-link/totals-route.ts';
import { databaseLogSink } from '../../gateway/logs/log-sink.ts';
import type { Route } from '../../http/routes/route.ts';
import type { HttpServer } from '../../http/server/server.ts';
import { DatabaseBank } from '../../ledger/database-bank.ts';
import type { Log } from '../../log.ts';
import { startOfRetention } from '../../model/logs/log-retention.ts';
import type { Settings } from '../../settings.ts';
import type { RunningSnapshot } from '../../snapshot/open-snapshot.ts';
import { databaseOrigin } from '../../snapshot/reading/snapshot-origin.ts';
import type { Database } from '../../store/connection/db.ts';
import { auditTrail } from '../../store/logs/audit-log.ts';
import { databaseRecords } from '../../store/records/database-records.ts';
import type { ProcessLink } from './process-link.ts';

interface LinkListenerParts {
  readonly settings: Pick<Settings, 'controlLink' | 'features' | 'inference' | 'server'>;
  readonly database: Database;
  /** Null in a process of home. */
  readonly link: ProcessLink | null;
  /** Null when no snapshot is kept. */
  readonly snapshot: Pick<RunningSnapshot, 'heldOrigin'> | null;
  readonly clock: SharedClock;
  readonly log: Log;
}

type LinkListenerEvents = Pick<
  LinkListenerOptions,
  'classifyError' | 'observe' | 'onRefusedBytes' | 'onUnexpectedError'
>;

/** Null where no gateways connect. @throws Failure when the certificates are not usable */
export function createAppLinkListener(
  parts: LinkListenerParts,
  events: LinkListenerEvents,
): HttpServer | null {
  const { settings, clock, log } = parts;
  const { listener, readCertificates } = settings.controlLink;
  if (listener === null || readCertificates === null) return null;
  const now = (): number => clock.now();
  return createLinkListener({
    ...events,
    readCertificates,
    clientNames: listener.clientNames,
    routes: [timeRoute(async () => (await clock.measure()).now), ...routesOf(parts)],
    now,
    log,
    connectionsMax: settings.server.connectionsMax,
  });
}

/** Home serves its database, a region what it holds and its own database. */
function routesOf({ settings, link, snapshot, database, clock }: LinkListenerParts): Route<null>[] {
  if (link !== null && snapshot !== null) {
    const { bank, logSink, records } = link;
    return [
      ...sealedSnapshotRoutes(snapshot.heldOrigin),
      logRoute(logSink),
      recordRoute(records),
      ...bankRoutes(bank),
    ];
  }
  const { logDays } = settings.inference.retention;
  return [
    ...sealedSnapshotRoutes(databaseOrigin(database.readable)),
    logRoute(databaseLogSink(database, () => startOfRetention(clock.now(), logDays))),
    recordRoute(databaseRecords(database, auditTrail(settings.features.auditLogs))),
    totalsRoute(database),
    ...bankRoutes(new DatabaseBank({ database, now: () => clock.now() })),
  ];
}
