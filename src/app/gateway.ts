/** Creates the gateway from the settings, database, clock, metrics and log of the process. */
import { totalmem } from 'node:os';
import type { Keyring } from '../auth/keyring.ts';
import type { RefusedCredentials } from '../auth/refused-credentials.ts';
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Issuer } from '../gateway/callers/issuer-keys.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import type { RequestLog } from '../gateway/logs/request-log.ts';
import type { SpanExport } from '../gateway/logs/span-export.ts';
import { createRefusedBytesReporter } from '../http/connections/refused-bytes.ts';
import type { Log } from '../log.ts';
import { outboundUrlFault } from '../model/services/outbound-url.ts';
import type { TokenSettings } from '../settings/groups/inference.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { StoredBlobs } from '../store/stored-blobs.ts';
import type { CountedRows } from './counted-rows.ts';
import type { Metrics } from './metrics.ts';

/** Default port. */
const inferencePortDefault = 8787;
const refreshLogIntervalMs = 10_000;
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
    'observeInference' | 'observeRefusedBytes' | 'observeUnexpectedError'
  >;
  /** Closed with the gateway. */
  readonly requestLog: RequestLog;
  /** Closed with the gateway; null when tracing is off. */
  readonly spanExport: SpanExport | null;
  /** Throws like an unavailable database until the database is verified. */
  readonly requireConnection: () => void;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
  /** Serves requests for the Admin API. */
  readonly passOn: GatewayOptions['passOn'];
}

export function createAppGateway(parts: GatewayParts): Gateway {
  const { settings, database, keyring, clock, log, blobs } = parts;
  const { metrics, requestLog, spanExport, requireConnection } = parts;
  const { inference, configTargets, trustedHosts, proxies } = settings;
  const { tokens, ...rest } = inference;
  const gateway = createGateway({
    database,
    clock,
    configTargets,
    trustedHosts,
    isUnavailable,
    proxies,
    ...rest,
    requireConnection,
    spanExport,
    blobs,
    passOn: parts.passOn,
    fileBytesMax: settings.blobs.fileBytesMax,
    record: (entry) => {
      metrics.observeInference(entry);
      requestLog.record(entry);
    },
    tokens: tokens && {
      issuers: issuersOf(tokens, trustedHosts),
      rules: tokens,
      onKeysFailure: (err, url) =>
        log.warn({ err, url }, 'the signing keys of tokens could not be fetched'),
    },
    bodiesBytesMax: inference.bodiesBytesMax ?? memoryBytes() / 4,
    graceMs: inference.graceSeconds * 1000,
    mayBeItself: inference.signsInAsItself,
    runsGuardrails: settings.features.guardrails,
    limitsBy: settings.features,
    hashCredential: (value) => {
      requireConnection();
      return keyring.hashCredential(value);
    },
    unsealerOf: (organisationId) => keyring.unsealerOf(organisationId),
    ...observers(parts),
  });
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

type Observers = Pick<
  GatewayOptions,
  'onRefusedBytes' | 'onRefused' | 'onSecretRead' | 'onSecretFailure' | 'onFault' | 'onLookFailure'
>;

/** Callbacks that count and log events of the gateway. */
function observers({ metrics, log, refusals, noteSecretRead }: GatewayParts): Observers {
  let quietUntilMs = 0;
  return {
    onRefusedBytes: createRefusedBytesReporter('inference', metrics.observeRefusedBytes, log),
    onRefused: (refused, remoteAddress) =>
      refusals.record(refused, { server: 'inference', remoteAddress }),
    onSecretRead: (place) => noteSecretRead(place, 'inference'),
    onSecretFailure: (err, reference) =>
      log.warn({ err, reference }, 'a secret could not be read from its secret manager'),
    onFault: (err, requestId) => {
      metrics.observeUnexpectedError('inference');
      log.error({ err, requestId }, 'an inference request failed');
    },
    onLookFailure: (err) => {
      if (performance.now() < quietUntilMs) return;
      quietUntilMs = performance.now() + refreshLogIntervalMs;
      log.warn(
        { err },
        'the gateway cannot check for changes; it continues with its last snapshot',
      );
    },
  };
}

/**
 * Each address once, with all organisations that trust its keys.
 *
 * @throws Failure for a forbidden address
 */
export function issuersOf({ keySets }: TokenSettings, trusted: Settings['trustedHosts']): Issuer[] {
  return [...Map.groupBy(keySets, ({ url }) => url)].map(([url, entries]) => {
    const fault = outboundUrlFault(url, trusted) ?? plainFault(url);
    if (fault !== null) {
      throw new Failure('invalidInput', `GATEWRIGHT_JWT_JWKS_URIS: ${url} ${fault}`);
    }
    const tsgIds = entries.map(({ tsgId }) => tsgId);
    return { url, tsgIds: tsgIds.includes(null) ? null : new Set(tsgIds as string[]) };
  });
}

/** Rejects plain HTTP: an attacker who can alter the response could issue valid tokens. */
function plainFault(url: string): string | null {
  const isPlain = url.toLowerCase().startsWith('http:');
  if (!isPlain || outboundUrlFault(url, []) !== null) return null;
  return 'must begin with https unless its host is private and trusted';
}

/** Port 0 for the Admin API selects a free port here too. */
export function inferencePort({
  inference,
  server,
}: Pick<Settings, 'inference' | 'server'>): number {
  return inference.port ?? (server.port === 0 ? 0 : inferencePortDefault);
}
