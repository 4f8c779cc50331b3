/** Provides the configuration of gateways: from the database, or from a sealed snapshot while the database does not respond. */
import { DatabaseUnavailable, isUnavailable } from '../connection/unavailable.ts';
import type { ConfigurationReads } from './configuration-reads.ts';
import { type ReadableSnapshot, SnapshotReads } from './snapshot-reads.ts';
import type { SnapshotSource, SnapshotView } from './snapshot-view.ts';

export interface ConfigurationSource {
  readonly reads: ConfigurationReads;
  /** Whether the database is known not to respond, or not verified yet. */
  isDatabaseAway(): boolean;
  /** Reports that work has waited for the database for long. */
  suspectDatabase(): void;
  /** Whether a snapshot exists that may be used while the database does not respond. */
  hasSnapshot(): boolean;
  /** The generation of an organisation in the usable snapshot; undefined for none. */
  snapshotGeneration(organisationId: string): string | undefined;
  /** When the snapshot was last known to be current, on the shared clock; null for no usable snapshot. */
  snapshotConfirmedAtMs(): number | null;
  /** Gateways that shared limits when the snapshot was built; null when unknown. */
  gatewaysSeen(): number | null;
}

export interface ConfigurationSourceOptions {
  readonly database: ConfigurationReads;
  readonly isDatabaseAway: () => boolean;
  readonly suspectDatabase: () => void;
  /** Null without snapshots. */
  readonly snapshot: SnapshotSource | null;
}

/** A read that takes longer lets the database be probed. */
const patienceMs = 500;
/** Number of values of keys that are remembered as unknown to the database. */
const unknownMax = 10_000;

export function configurationSource(options: ConfigurationSourceOptions): ConfigurationSource {
  const { snapshot } = options;
  const usable = (): ReadableSnapshot | null => {
    const view = snapshot?.view() ?? null;
    if (snapshot === null || view === null) return null;
    const confirmedAtMs = snapshot.confirmedAtMs();
    const isComplete = view.isWhole && snapshot.isCurrent();
    return { view, isComplete, completeUntilMs: confirmedAtMs, isInForce: false };
  };
  return {
    reads: snapshot === null ? options.database : combinedReads(options, usable),
    isDatabaseAway: options.isDatabaseAway,
    suspectDatabase: options.suspectDatabase,
    hasSnapshot: () => usable() !== null,
    snapshotGeneration: (organisationId) => usable()?.view.organisation(organisationId)?.generation,
    snapshotConfirmedAtMs: () => {
      const found = usable();
      return found && (found.completeUntilMs ?? found.view.builtAtMs);
    },
    gatewaysSeen: () => usable()?.view.gateways ?? null,
  };
}

/**
 * The configuration of a process without a database, which has the snapshot of its control plane only. It is current
 * while the control plane confirms it at least every `awayAfterMs`.
 */
export function linkedConfiguration(options: {
  readonly snapshot: SnapshotSource;
  readonly awayAfterMs: number;
  /** The shared clock. */
  readonly now: () => number;
}): ConfigurationSource {
  const { snapshot, awayAfterMs, now } = options;
  const confirmedAtMs = (): number => snapshot.confirmedAtMs() ?? 0;
  const isAway = (): boolean => now() - confirmedAtMs() > awayAfterMs;
  return {
    reads: new SnapshotReads(() => {
      const view = snapshot.view();
      if (view === null) {
        throw new DatabaseUnavailable('The control plane has not sent its configuration yet');
      }
      const isComplete = view.isWhole && snapshot.isCurrent();
      return { view, isComplete, completeUntilMs: confirmedAtMs(), isInForce: !isAway() };
    }),
    isDatabaseAway: isAway,
    suspectDatabase: () => undefined,
    hasSnapshot: () => snapshot.view() !== null,
    snapshotGeneration: (organisationId) =>
      snapshot.view()?.organisation(organisationId)?.generation,
    snapshotConfirmedAtMs: () => (snapshot.view() === null ? null : confirmedAtMs()),
    gatewaysSeen: () => snapshot.view()?.gateways ?? null,
  };
}

type AnyRead = (...args: never[]) => Promise<unknown>;

/** The database comes first; while it does not respond, the snapshot is read at once. */
function combinedReads(
  { database, isDatabaseAway, suspectDatabase }: ConfigurationSourceOptions,
  usable: () => ReadableSnapshot | null,
): ConfigurationReads {
  const snapshot = new SnapshotReads(() => {
    const found = usable();
    if (found !== null) return found;
    throw new DatabaseUnavailable('The database does not respond, and there is no usable snapshot');
  });
  const combined = <Read extends AnyRead>(fromDatabase: Read, fromSnapshot: Read) =>
    (async (...args: Parameters<Read>) => {
      if (isDatabaseAway() && usable() !== null) return fromSnapshot(...args);
      const late = setTimeout(suspectDatabase, patienceMs).unref();
      try {
        return await fromDatabase(...args);
      } catch (error) {
        if (!isUnavailable(error) || usable() === null) throw error;
        return await fromSnapshot(...args);
      } finally {
        clearTimeout(late);
      }
    }) as Read;
  const names = Object.keys(database) as (keyof ConfigurationReads)[];
  const all = names.map((name) => [name, combined<AnyRead>(database[name], snapshot[name])]);
  const unknown = new UnknownKeys(() => usable()?.view ?? null);
  const findHolder = combined(
    unknown.noting(database.findHolder),
    unknown.hiding(snapshot.findHolder),
  );
  return { ...(Object.fromEntries(all) as ConfigurationReads), findHolder };
}

type FindHolder = ConfigurationReads['findHolder'];

/** Remembers values that the database did not know, so that an older snapshot does not bring back a revoked one. */
class UnknownKeys {
  readonly #view: () => SnapshotView | null;
  /** When the database did not know the value with a digest, on the shared clock. */
  readonly #unknownAtMs = new Map<string, number>();

  constructor(view: () => SnapshotView | null) {
    this.#view = view;
  }

  noting(find: FindHolder): FindHolder {
    return async (hash, now, madeAtMs) => {
      const holder = await find(hash, now, madeAtMs);
      const digest = hash.toString('base64url');
      this.#unknownAtMs.delete(digest);
      if (holder === undefined) this.#remember(digest, now);
      return holder;
    };
  }

  hiding(find: FindHolder): FindHolder {
    return async (hash, now, madeAtMs) => {
      const unknownAtMs = this.#unknownAtMs.get(hash.toString('base64url'));
      const holder = await find(hash, now, madeAtMs);
      if (holder === undefined || unknownAtMs === undefined) return holder;
      const readAtMs = this.#view()?.organisation(holder.organisation_id)?.readAtMs ?? 0;
      return readAtMs > unknownAtMs ? holder : undefined;
    };
  }

  #remember(digest: string, now: number): void {
    if (this.#unknownAtMs.size === unknownMax) {
      this.#unknownAtMs.delete(this.#unknownAtMs.keys().next().value!);
    }
    this.#unknownAtMs.set(digest, now);
  }
}
