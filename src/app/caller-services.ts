/** Creates what the gateways of the process share, and the callbacks by which each reports events. */
import type { Keyring } from '../auth/keyring.ts';
import type { RefusedCredential, RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import { type CallerServices, createCallerServices } from '../gateway/callers/caller-services.ts';
import { createRefusedBytesReporter } from '../http/connections/refused-bytes.ts';
import type { Log } from '../log.ts';
import { atMostOncePer } from '../rate-limited.ts';
import type { Settings } from '../settings.ts';
import type { RunningSnapshot } from '../snapshot/open-snapshot.ts';
import type { Spool } from '../spool/spool.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { ConfigurationSource } from '../store/reads/configuration-source.ts';
import type { GatewayRecords } from '../store/records/gateway-records.ts';
import type { CountedRows } from './counted-rows.ts';
import { issuersOf } from './issuers.ts';
import { linkedGenerations, type ProcessLink } from './link/process-link.ts';
import type { Metrics } from './metrics.ts';
import type { Changes } from './outages/changes.ts';

const refreshLogIntervalMs = 10_000;

interface CallerParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly records: GatewayRecords;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes usage that is not counted yet; null without a folder for it. */
  readonly spool?: Pick<Spool, 'stream'> | null;
  readonly configuration: ConfigurationSource;
  /** Null in a process with a database. */
  readonly link: ProcessLink | null;
  readonly changes: Changes;
  /** Null when no snapshot is kept. */
  readonly snapshot: Pick<RunningSnapshot, 'source'> | null;
  /** Throws like an unavailable database until the keys of the deployment are read. */
  readonly requireKeys: () => void;
}

export function createAppCallerServices(parts: CallerParts): CallerServices {
  const { settings, database, keyring, clock, log, configuration, requireKeys, link } = parts;
  const { inference, trustedHosts, proxies } = settings;
  const { tokens } = inference;
  const { spool = null } = parts;
  const services: CallerServices = createCallerServices({
    usageJournal:
      spool?.stream({
        name: 'usage',
        dropping: null,
        onReadable: () => services.startJournal(),
      }) ?? null,
    database,
    records: parts.records,
    clock,
    trustedHosts,
    proxies,
    configuration,
    ...(link && { bank: link.bank }),
    listGenerations: link ? linkedGenerations(configuration) : parts.changes.poll.listGenerations,
    isUnavailable,
    graceMs: inference.graceSeconds * 1000,
    hashCredential: (value) => {
      requireKeys();
      return keyring.hashCredential(value);
    },
    tokens: tokens && {
      issuers: issuersOf(tokens, trustedHosts),
      rules: tokens,
      onKeysFailure: (err, url) =>
        log.warn({ err, url }, 'the signing keys of tokens could not be fetched'),
    },
    onLookFailure: atMostOncePer(refreshLogIntervalMs, (err) => {
      log.warn(
        { err },
        'the gateway cannot check for changes; it continues with its last snapshot',
      );
    }),
  });
  // Linked gateways know of changes by their snapshot only.
  if (link !== null) parts.snapshot?.source.onChange(() => services.lookForChanges());
  return services;
}

interface EventParts {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'observeRefusedBytes' | 'observeUnexpectedError'>;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}

/** Callbacks that count and log events of a listener; `failure` is the log text of an unexpected error. */
export function listenerEvents(
  { metrics, log, refusals, noteSecretRead }: EventParts,
  server: 'inference' | 'mcp',
  failure: string,
) {
  return {
    onRefusedBytes: createRefusedBytesReporter(server, metrics.observeRefusedBytes, log),
    onRefused: (refused: RefusedCredential, remoteAddress: string) =>
      refusals.record(refused, { server, remoteAddress }),
    onSecretRead: (place: Parameters<CountedRows['noteSecretRead']>[0]) =>
      noteSecretRead(place, server),
    onSecretFailure: (err: unknown, reference: string) =>
      log.warn({ err, reference }, 'a secret could not be read from its secret manager'),
    onFault: (err: unknown, requestId: string) => {
      metrics.observeUnexpectedError(server);
      log.error({ err, requestId }, failure);
    },
  };
}
