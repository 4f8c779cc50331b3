/** Creates the gateway from the settings, database, clock, metrics and log of the process. */
import { totalmem } from 'node:os';
import type { Keyring } from '../auth/keyring.ts';
import type { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import type { CallerServices } from '../gateway/callers/caller-services.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import type { RequestLog } from '../gateway/logs/request-log.ts';
import type { SpanExport } from '../gateway/logs/span-export.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import { listenerEvents } from './caller-services.ts';
import type { CountedRows } from './counted-rows.ts';
import type { Metrics } from './metrics.ts';
import type { Changes } from './outages/changes.ts';

/** Default port. */
const inferencePortDefault = 8787;
/** Time limit for writing pending log entries and sending pending spans at shutdown. */
const closeMs = 5_000;

interface GatewayParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly blobs: StoredBlobs;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<
    Metrics,
    | 'observeInference'
    | 'observeGuardrails'
    | 'showRealtime'
    | 'observeRefusedBytes'
    | 'observeUnexpectedError'
  >;
  /** Closed by its owner. */
  readonly callers: CallerServices;
  /** Closed with the gateway. */
  readonly requestLog: RequestLog;
  /** Closed with the gateway; null when tracing is off. */
  readonly spanExport: SpanExport | null;
  /** Throws like an unavailable database until the database is verified. */
  readonly requireConnection: () => void;
  readonly changes: Changes;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
  /** Serves requests for the Admin API. */
  readonly passOn: GatewayOptions['passOn'];
}

export function createAppGateway(parts: GatewayParts): Gateway {
  const { settings, database, keyring, clock, blobs } = parts;
  const { metrics, requestLog, spanExport, requireConnection } = parts;
  const { inference, configTargets, trustedHosts } = settings;
  const gateway = createGateway({
    database,
    clock,
    configTargets,
    trustedHosts,
    isUnavailable,
    ...inference,
    callers: parts.callers,
    requireConnection,
    mayHaveLostRuns: parts.changes.poll.mayHaveLostRuns,
    spanExport,
    blobs,
    passOn: parts.passOn,
    fileBytesMax: settings.blobs.fileBytesMax,
    record: (entry) => {
      metrics.observeInference(entry);
      metrics.observeGuardrails(entry);
      requestLog.record(entry);
    },
    bodiesBytesMax: inference.bodiesBytesMax ?? memoryBytes() / 4,
    mayBeItself: inference.signsInAsItself,
    runsGuardrails: settings.features.guardrails,
    limitsBy: settings.features,
    readRealtimeKey: () => keyring.realtimeKey,
    unsealerOf: (organisationId) => keyring.unsealerOf(organisationId),
    ...listenerEvents(parts, 'inference', 'an inference request failed'),
  });
  metrics.showRealtime(() => gateway.realtimeFigures());
  return {
    ...gateway,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await Promise.all([requestLog.close(closeMs), spanExport?.close(closeMs)]);
    },
  };
}

/** Memory that the process may use: that of its container, or of the machine. */
export function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Port 0 for the Admin API selects a free port here too. */
export function inferencePort({
  inference,
  server,
}: Pick<Settings, 'inference' | 'server'>): number {
  return inference.port ?? (server.port === 0 ? 0 : inferencePortDefault);
}
