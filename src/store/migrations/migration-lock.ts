/** Locks the schema for one runner during a command of umzug. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Umzug } from 'umzug';
import { Failure } from '../../failure.ts';
import * as leases from './leases.ts';
import type { MigrateOptions } from './migrate-options.ts';
import type { MigrationSession } from './migration-session.ts';

const leaseName = 'schema-migrations';
const leaseTtlMsDefault = 30_000;
const killIntervalMs = 500;
const pollMs = 250;
const waitMsMax = 30 * 60_000;

type LockOptions = Pick<MigrateOptions, 'log' | 'signal' | 'leaseTtlMs' | 'heartbeatMs'>;

/** A lease that is extended while it is held; umzug itself has a lock for one machine only, a file. */
export class MigrationLock {
  readonly #session: MigrationSession;
  readonly #isCurrent: () => Promise<boolean>;
  readonly #options: LockOptions;
  #lease: leases.MigrationLease | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #stopKilling: () => void = () => undefined;

  /** @param isCurrent whether the schema is complete, so that waiting for the lock is pointless */
  constructor(session: MigrationSession, isCurrent: () => Promise<boolean>, options: LockOptions) {
    this.#session = session;
    this.#isCurrent = isCurrent;
    this.#options = options;
  }

  get lease(): leases.MigrationLease {
    if (this.#lease === null) throw new Error('the migration lease is not held');
    return this.#lease;
  }

  attachTo(umzug: Umzug): void {
    umzug.on('beforeCommand', async () => {
      this.#lease = await this.#acquire();
      if (this.#lease !== null) this.#watchOver(this.#lease);
    });
    umzug.on('afterCommand', async () => {
      if (this.#lease !== null) await this.#release(this.#lease);
    });
  }

  /** Null when another runner has completed the schema; then no migration is pending. */
  async #acquire(): Promise<leases.MigrationLease | null> {
    const { log, signal, leaseTtlMs = leaseTtlMsDefault } = this.#options;
    const { watch } = this.#session;
    const owner = randomUUID();
    const deadline = performance.now() + waitMsMax;
    for (let turn = 0; performance.now() < deadline; turn += 1) {
      signal?.throwIfAborted();
      if (await this.#isCurrent()) return null;
      const lease = await leases.acquire(watch, leaseName, owner, leaseTtlMs);
      if (lease !== null) return lease;
      if (turn === 0) log.warn('another process is migrating the database; waiting for it');
      await delay(pollMs, undefined, { signal });
    }
    throw new Failure(
      'retryable',
      `Another process has been migrating the database for ${waitMsMax / 60_000} minutes. ` +
        '`gatewright migrate --status` shows how far it is; try again once it has finished.',
    );
  }

  #watchOver(lease: leases.MigrationLease): void {
    const { log, leaseTtlMs = leaseTtlMsDefault, heartbeatMs = leaseTtlMs / 6 } = this.#options;
    this.#heartbeat = setInterval(() => {
      leases.extend(this.#session.watch, lease, leaseTtlMs).catch((error: Error) => {
        log.warn({ error: error.message }, 'the migration lease could not be extended');
      });
    }, heartbeatMs);
    this.#stopKilling = killOnAbort(this.#session, this.#options);
  }

  async #release(lease: leases.MigrationLease): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#stopKilling();
    this.#lease = null;
    await leases.release(this.#session.watch, lease).catch(() => {
      this.#options.log.warn('the migration lease could not be released; it expires by itself');
    });
  }
}

/**
 * Kills the running statement on abort, because it may wait for a lock or copy a large table. Repeats the
 * KILL, because the statement may not have reached the server yet.
 */
function killOnAbort({ work, watch }: MigrationSession, { signal, log }: LockOptions): () => void {
  let repeat: NodeJS.Timeout | undefined;
  const kill = (): void => {
    watch.query('KILL QUERY ?', [work.threadId]).catch((error: Error) => {
      log.warn({ error: error.message }, 'the running statement could not be killed');
    });
  };
  const start = (): void => {
    kill();
    repeat = setInterval(kill, killIntervalMs);
  };
  if (signal?.aborted) start();
  signal?.addEventListener('abort', start);
  return () => {
    signal?.removeEventListener('abort', start);
    clearInterval(repeat);
  };
}
