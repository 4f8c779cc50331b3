/** Counts refused credentials and secret manager reads, and writes the counts to the audit log. */
import { MinuteCounts, type MinuteCountsOptions } from '../auth/minute-counts.ts';
import { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { CountedAction, GatewayRecords } from '../store/records/gateway-records.ts';
import type { Metrics, SecretReader } from './metrics.ts';

/** Dispose writes pending counts; counts that cannot be written within 2 seconds are lost. */
export interface CountedRows extends AsyncDisposable {
  readonly refusals: RefusedCredentials;
  /** Records that a value was read from a secret manager, and by which component. */
  readonly noteSecretRead: (
    place: { readonly id: string; readonly organisationId: string },
    reader: SecretReader,
  ) => void;
}

interface Parts {
  readonly settings: Pick<Settings, 'features'>;
  readonly records: Pick<GatewayRecords, 'findOrganisationOfTsg' | 'storeCountedRow'>;
  readonly clock: Clock;
  readonly log: Log;
}

const sourcesMax = 100;
const referencesMax = 1_000;
const closeMs = 2_000;

/** `requireConnection` throws until the database is verified. */
export function createCountedRows(
  parts: Parts,
  metrics: Pick<Metrics, 'observeRefused' | 'observeSecretRead'> | null = null,
  requireConnection: () => void = () => {},
): CountedRows {
  const isAudited = parts.settings.features.auditLogs;
  const countsOf = (
    what: CountedAction,
    options: Pick<MinuteCountsOptions, 'fields' | 'eachMax'>,
  ) =>
    isAudited ? new MinuteCounts({ ...sinkOf(parts, requireConnection, what), ...options }) : null;
  const refused = countsOf(
    { action: 'refuse', resourceKind: 'Credential', actorId: 'authentication' },
    { fields: { count: 'failures', each: 'sources' }, eachMax: sourcesMax },
  );
  const reads = countsOf(
    { action: 'read', resourceKind: 'SecretReference', actorId: 'gateway' },
    { fields: { count: 'reads', each: 'references' }, eachMax: referencesMax },
  );
  return {
    refusals: new RefusedCredentials({
      counts: refused,
      observe: (...one) => metrics?.observeRefused(...one),
    }),
    noteSecretRead: ({ id, organisationId }, reader) => {
      metrics?.observeSecretRead(reader);
      reads?.add({ organisationId, tsgId: null }, `${reader} ${id}`, () => ({ id, reader }));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([refused, reads].map((counts) => counts?.close(closeMs)));
    },
  };
}

function sinkOf(
  { records, clock, log }: Parts,
  requireConnection: () => void,
  what: CountedAction,
): Pick<MinuteCountsOptions, 'now' | 'findOrganisation' | 'write' | 'onFailure'> {
  return {
    now: () => clock.now(),
    findOrganisation: async (tsgId) => {
      requireConnection();
      return records.findOrganisationOfTsg(tsgId);
    },
    write: async (row) => {
      requireConnection();
      await records.storeCountedRow(row, what);
    },
    onFailure: (err) =>
      log.warn({ err, action: what.action }, 'rows wait to be written to the audit log'),
  };
}
