/** Creates what all gateways of a process share of their callers, so that changes are polled and limits are held once. */
import type { Clock } from '../../clock.ts';
import { detach } from '../../detached.ts';
import type { JournalStream } from '../../ledger/journal/usage-journal.ts';
import { createLedger, type Ledger } from '../../ledger/ledger.ts';
import type { LimitBank } from '../../ledger/limit-bank.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Proxies } from '../../remote/proxies.ts';
import type { Database } from '../../store/connection/db.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { ConfigurationSource } from '../../store/reads/configuration-source.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import * as snapshotMarks from '../../store/rows/snapshot-marks.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { Origins } from '../../upstream/origins.ts';
import { type GatewayKey, GatewayKeys } from './gateway-key.ts';
import { GatewayTokens, type TokenRules, type TokenWorkspace } from './gateway-token.ts';
import { Generations, type GenerationsOptions } from './generations.ts';
import { type Issuer, IssuerKeys } from './issuer-keys.ts';
import { IssuerOrigins } from './issuer-origins.ts';
import { SnapshotCache } from './snapshot-cache.ts';

export interface CallerServicesOptions {
  readonly database: Pick<Database, 'readable' | 'db' | 'transaction'>;
  readonly records: GatewayRecords;
  readonly clock: Clock;
  readonly trustedHosts: TrustedHosts;
  /** Proxies for fetching the keys of issuers; null for none. */
  readonly proxies: Proxies | null;
  readonly configuration: ConfigurationSource;
  /** Source of units of limits and of generations; the database by default. */
  readonly bank?: LimitBank;
  readonly listGenerations?: GenerationsOptions['load'];
  readonly hashCredential: (value: string) => Buffer;
  /** Whether an error means that the database is unreachable. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Issuers whose tokens are accepted in place of keys; null when tokens are not accepted. */
  readonly tokens: {
    readonly issuers: readonly Issuer[];
    readonly rules: TokenRules;
    /** Reports signing keys of an issuer that could not be fetched. */
    readonly onKeysFailure: (error: unknown, url: string) => void;
  } | null;
  /** Stream of the spool for usage; null without a folder for it. */
  readonly usageJournal?: JournalStream | null;
  /** How long cached values are used while the database is unreachable. */
  readonly graceMs: number;
  /** Reports a failed poll for changes. */
  readonly onLookFailure: (error: unknown) => void;
}

export interface CallerServices extends AsyncDisposable {
  readonly keys: GatewayKeys;
  /** Null when tokens are not accepted. */
  readonly tokens: GatewayTokens | null;
  readonly ledger: Ledger;
  /** The configuration as gateways read it. */
  readonly reads: ConfigurationReads;
  readonly origins: Origins;
  /** Creates a cache of values that are valid until something of their organisation changes. */
  cache<T>(entriesMax: number): SnapshotCache<T>;
  /** Calls back within a second of any change in an organisation that has callers, until the process stops. */
  onChange(listener: (organisationId: string) => void): void;
  /** Looks for changes more often while any of these functions returns true. */
  addWaiting(isWaiting: () => boolean): void;
  /** Looks for changes from now on, before the first caller. */
  startPolling(): void;
  /** Looks for changes at once, besides. */
  lookForChanges(): void;
  /** Reads and settles usage that processes which died have left in the spool, which is open now. */
  startJournal(): void;
  /** Whether requests are served although the database does not respond. */
  servesWithoutDatabase(): boolean;
  /** Age of the configuration in seconds while the database does not respond; null while it does. */
  configurationAgeSeconds(): number | null;
}

/** Intervals of polling for changes, which every process therefore applies within a second. */
const pollMs = 300;
const idlePollMs = 1_000;
const keysMax = 100_000;
const workspacesMax = 10_000;

/** Must be disposed after the gateways. */
export function createCallerServices(options: CallerServicesOptions): CallerServices {
  const { database, configuration, clock, trustedHosts, hashCredential, isUnavailable } = options;
  const { reads } = configuration;
  const listeners: ((organisationId: string) => void)[] = [];
  const waiting: (() => boolean)[] = [];
  const generations = new Generations({
    load:
      options.listGenerations ??
      ((held) => snapshotMarks.listGenerations(database.readable, [...held.keys()])),
    pollMs,
    idlePollMs,
    graceMs: options.graceMs,
    configuration,
    onFailure: options.onLookFailure,
    isAwaited: () => waiting.some((isWaiting) => isWaiting()),
    onChange: (organisationId) => {
      for (const listener of listeners) listener(organisationId);
    },
  });
  const origins = new Origins(trustedHosts);
  const issuerOrigins = new IssuerOrigins(origins, options.proxies);
  const { usageJournal: journal = null, bank } = options;
  const gatewaysSeen = () => configuration.gatewaysSeen();
  const ledger = createLedger({ database, clock, journal, gatewaysSeen, ...(bank && { bank }) });
  const cache = <T>(entriesMax: number): SnapshotCache<T> =>
    new SnapshotCache<T>(generations, { entriesMax, isUnavailable });
  return {
    keys: new GatewayKeys({
      records: options.records,
      reads,
      hashCredential,
      cache: cache<GatewayKey>(keysMax),
    }),
    tokens: tokensOf(options, issuerOrigins, cache),
    ledger,
    reads,
    origins,
    cache,
    onChange: (listener) => void listeners.push(listener),
    addWaiting: (isWaiting) => void waiting.push(isWaiting),
    startPolling: () => generations.start(),
    lookForChanges: () => detach('the look for changes', generations.refresh()),
    // Tried again from time to time while the database is away.
    startJournal: () =>
      detach(
        'settling usage of processes that ended',
        ledger.settleLeft().catch(() => undefined),
      ),
    servesWithoutDatabase: () => generations.isHolding(),
    configurationAgeSeconds: () => {
      if (!generations.isInOutage()) return null;
      const confirmedAtMs = configuration.snapshotConfirmedAtMs();
      const ageMs = confirmedAtMs === null ? generations.ageMs : clock.now() - confirmedAtMs;
      return Math.max(0, Math.floor(ageMs / 1000));
    },
    [Symbol.asyncDispose]: async () => {
      await generations.close();
      await ledger[Symbol.asyncDispose]();
      await issuerOrigins[Symbol.asyncDispose]();
      await origins[Symbol.asyncDispose]();
    },
  };
}

function tokensOf(
  { records, configuration, tokens }: CallerServicesOptions,
  origins: IssuerOrigins,
  cache: CallerServices['cache'],
): GatewayTokens | null {
  if (tokens === null) return null;
  const { issuers, rules, onKeysFailure: onFailure } = tokens;
  const issuerKeys = new IssuerKeys({ issuers, origins, monotonicMs, onFailure });
  const workspaces = cache<TokenWorkspace>(workspacesMax);
  return new GatewayTokens({ records, reads: configuration.reads, issuerKeys, rules, workspaces });
}
