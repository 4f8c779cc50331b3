/** Fails the work that waits for a database server, once the server is known not to respond. */
import type { Pool } from 'tarn';
import type { Log } from '../../log.ts';
import { type Connector, closeSocket } from './connect.ts';
import type { PooledConnection } from './pooled-connection.ts';
import { ReachWatch } from './reach-watch.ts';
import { DatabaseUnavailable, isServerFull, isTemporary } from './unavailable.ts';

type Acquire = ReturnType<Pool<PooledConnection>['acquire']>;

export class WaitingWork {
  readonly #reach: ReachWatch;
  readonly #connections = new Set<PooledConnection>();
  readonly #acquires = new Set<Acquire>();

  constructor(connector: Connector, log: Log | undefined) {
    this.#reach = new ReachWatch({
      probe: () => probe(connector),
      // A server that is full, or that refuses the credentials, responds.
      isAwayAfter: (error) => isTemporary(error) && !isServerFull(error),
      onAway: (fault) => this.#abandon(fault),
      messages: {
        away: 'the database does not respond; it is probed until it does',
        back: 'the database responds again',
      },
      log,
    });
  }

  /** Whether the server is known not to respond. */
  isAway(): boolean {
    return this.#reach.fault !== null;
  }

  /** @throws DatabaseUnavailable while the server is known not to respond */
  requireReach(): void {
    if (this.#reach.fault !== null) throw copyOf(this.#reach.fault);
  }

  suspect(): void {
    this.#reach.suspect();
  }

  stop(): void {
    this.#reach.stop();
  }

  add(connection: PooledConnection): PooledConnection {
    this.#connections.add(connection);
    return connection;
  }

  delete(connection: PooledConnection): void {
    this.#connections.delete(connection);
  }

  /** Waits for a connection; a failure lets the server be probed. */
  async acquire(acquire: Acquire): Promise<PooledConnection> {
    this.#acquires.add(acquire);
    try {
      return await acquire.promise;
    } catch (error) {
      this.suspect();
      if (!(error instanceof DatabaseUnavailable)) this.requireReach();
      throw error;
    } finally {
      this.#acquires.delete(acquire);
    }
  }

  #abandon(fault: DatabaseUnavailable): void {
    for (const connection of this.#connections) connection.abandon(copyOf(fault));
    for (const acquire of this.#acquires) acquire.abort();
  }
}

/** Each caller gets an error of its own, because stacks are added to it. */
function copyOf(fault: DatabaseUnavailable): DatabaseUnavailable {
  return new DatabaseUnavailable(fault.message, { cause: fault });
}

/** Each step of opening has a time limit. */
async function probe(connector: Connector): Promise<void> {
  closeSocket(await connector.open());
}
