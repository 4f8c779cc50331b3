/** Opens what a gateway without the database of home uses in its place: the link to its control plane. */
import type { SharedClock } from '../../clock.ts';
import { ControlLink } from '../../control-link/control-link.ts';
import { LinkedBank } from '../../control-link/linked-bank.ts';
import { LinkedLogSink } from '../../control-link/linked-log-sink.ts';
import { LinkedOrigin } from '../../control-link/linked-origin.ts';
import { linkedRecords } from '../../control-link/linked-records.ts';
import { readSharedTime } from '../../control-link/time-route.ts';
import type { LogSink } from '../../gateway/logs/log-sink.ts';
import type { LimitBank } from '../../ledger/limit-bank.ts';
import type { Log } from '../../log.ts';
import type { Settings } from '../../settings.ts';
import type { RunningSnapshot } from '../../snapshot/open-snapshot.ts';
import type { SnapshotOrigin } from '../../snapshot/reading/snapshot-origin.ts';
import type { Database } from '../../store/connection/db.ts';
import { noDatabase } from '../../store/connection/no-database.ts';
import { DatabaseUnavailable, isUnavailable } from '../../store/connection/unavailable.ts';
import type { ConfigurationSource } from '../../store/reads/configuration-source.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import type { ProcessState } from '../outages/process-state.ts';
import { openProcessRegion, type ProcessRegion } from './process-region.ts';

export interface ProcessLink extends AsyncDisposable {
  /** Refuses all work. */
  readonly database: Database;
  readonly origin: SnapshotOrigin;
  readonly bank: LimitBank;
  readonly logSink: LogSink;
  readonly records: GatewayRecords;
  /** Milliseconds since the epoch of the clock that all processes of the deployment share. */
  readTime(): Promise<number>;
  /** The region of this process; null for a gateway that has no database at all. */
  readonly region: ProcessRegion | null;
}

const noDatabaseHere = 'This request needs a database, and this gateway has none of its own';

/** Null for a process of home. @throws Failure when the certificates are not usable */
export function openProcessLink(
  settings: Pick<Settings, 'controlLink' | 'proxies' | 'database' | 'inference'>,
  log: Log,
): ProcessLink | null {
  const { controlLink, proxies } = settings;
  const { url, readCertificates } = controlLink;
  if (url === null || readCertificates === null) return null;
  const link = new ControlLink({
    url,
    readCertificates,
    proxies,
    onUnusable: (err) => log.error({ err }, 'the new certificates of the link are not usable'),
  });
  const region = openProcessRegion(settings, link, log);
  return {
    database: noDatabase(noDatabaseHere),
    origin: new LinkedOrigin(link),
    bank: region?.bank ?? new LinkedBank(link),
    logSink: region?.logSink ?? new LinkedLogSink(link),
    records: linkedRecords(link),
    region,
    readTime: () => readSharedTime(link),
    [Symbol.asyncDispose]: async () => {
      await region?.[Symbol.asyncDispose]();
      await link[Symbol.asyncDispose]();
    },
  };
}

interface LinkedParts {
  readonly state: ProcessState;
  readonly snapshot: RunningSnapshot;
  readonly keyring: Parameters<ProcessState['openFromControlPlane']>[1];
  readonly clock: SharedClock;
  readonly log: Log;
  /** Opened once the keys are read; null without a folder. */
  readonly spool: { open(): Promise<void> } | null;
}

/**
 * Reads the configuration and keys of the control plane, and verifies the region's database. Each of them is in use
 * from then on, also while the other one is away.
 *
 * @throws DatabaseUnavailable when one does not answer or the control plane has no snapshot yet, and Failure when the
 * master key is another one, or the database not that of the region
 */
export async function connectLinked(
  parts: LinkedParts,
  { region }: Pick<ProcessLink, 'region'>,
): Promise<void> {
  const attempts = await Promise.allSettled([connectToControlPlane(parts), region?.prove()]);
  const faults = attempts.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  // A fault that waiting does not mend comes first.
  const fault = faults.find((one) => !isUnavailable(one)) ?? faults[0];
  if (fault !== undefined) throw fault;
}

async function connectToControlPlane(parts: LinkedParts): Promise<void> {
  const { state, snapshot, keyring, clock, log, spool } = parts;
  if (state.isLinked) return;
  await clock.measure();
  await snapshot.pull();
  const view = snapshot.source.view();
  if (view === null) throw new DatabaseUnavailable('The control plane has no snapshot yet');
  state.openFromControlPlane(view, keyring);
  log.info({ sequence: view.sequence }, 'connected to the control plane');
  await spool?.open();
}

/**
 * Reads generations from the snapshot of the control plane. Rejects, like an unreachable database, while the control
 * plane does not answer.
 */
export function linkedGenerations(
  configuration: Pick<ConfigurationSource, 'isDatabaseAway' | 'snapshotGeneration'>,
): (held: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>> {
  return async (held) => {
    if (configuration.isDatabaseAway()) {
      throw new DatabaseUnavailable('The control plane does not answer');
    }
    const generationOf = (id: string) => configuration.snapshotGeneration(id) ?? '';
    return new Map([...held.keys()].map((id) => [id, generationOf(id)]));
  };
}
