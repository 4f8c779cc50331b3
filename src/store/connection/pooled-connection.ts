/** A connection of the pool: sends statements, classifies failures, and decides whether it can be used again. */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Connection, QueryError, ResultSetHeader } from 'mysql2';
import { widened } from './beyond-ascii.ts';
import { closeSocket } from './connect.ts';
import type { Stuck } from './kill.ts';
import { retrying } from './retry.ts';
import {
  isConnectionSpent,
  isWriteRefusal,
  leavesOutcomeOpen,
  OutcomeUnknown,
  StatementTimeout,
} from './unavailable.ts';
import { Waiters } from './waiters.ts';

/** Statements without side effects. */
const readPattern = /^\s*(?:select|show)\b/i;

/** Rows, or the result of a change. */
type DriverResult = unknown[] | ResultSetHeader;

/** The pool of a connection. */
interface ConnectionOwner {
  release(connection: PooledConnection): void;
  /** Ends a statement that the server still runs for an abandoned connection. */
  kill(stuck: Stuck): void;
  /** Records that the server rejected a change. */
  noteWriteRefusal(): void;
}

interface ConnectionLimits {
  /** 0 means no limit. */
  readonly queryTimeoutMs: number;
  /** A connection that was unused for longer is discarded, because the server may be ending it. */
  readonly unusedMsMax: number;
}

/** Implements the query builder's interface; prepared statements call it directly (dialect.ts). */
export class PooledConnection implements DatabaseConnection {
  readonly #raw: Connection;
  readonly #owner: ConnectionOwner;
  readonly #waiters: Waiters;
  readonly #unusedMsMax: number;
  /** When the last response arrived, by `performance.now()`. */
  #usedAtMs = performance.now();
  #usable = true;
  /** Within a transaction a failed statement is not retried; the transaction is. */
  #inTransaction = false;

  constructor(
    raw: Connection,
    { queryTimeoutMs, unusedMsMax }: ConnectionLimits,
    owner: ConnectionOwner,
  ) {
    this.#raw = raw;
    this.#owner = owner;
    this.#unusedMsMax = unusedMsMax;
    this.#waiters = new Waiters(queryTimeoutMs, (ranMs) => {
      owner.kill({ threadId: raw.threadId, ranMs });
      this.#destroy(new StatementTimeout(ranMs));
    });
    raw.on('error', (error) => this.#destroy(error));
    // Not discarded here: the driver fails a running query only when it closes the socket itself.
    raw.on('end', () => {
      this.#usable = false;
    });
  }

  get usable(): boolean {
    return this.#usable && performance.now() - this.#usedAtMs < this.#unusedMsMax;
  }

  /** @throws OutcomeUnknown when the response to a change outside a transaction was lost */
  async executeQuery<Row>({
    sql,
    parameters,
  }: Pick<CompiledQuery, 'sql' | 'parameters'>): Promise<QueryResult<Row>> {
    const send = (values: readonly unknown[]) =>
      this.#inTransaction ? this.#send(sql, values) : this.#sendAlone(sql, values);
    const sendWidened = (error: unknown) => {
      const others = widened(error, parameters);
      if (others === null) throw error;
      return send(others);
    };
    try {
      return resultOf<Row>(await send(parameters).catch(sendWidened));
    } catch (error) {
      throw withCallers(error);
    }
  }

  /** Required by the interface and unused. */
  streamQuery(): never {
    throw new TypeError('streaming of rows is not supported');
  }

  async begin(): Promise<void> {
    await this.#send('begin');
    this.#inTransaction = true;
  }

  /** @throws OutcomeUnknown when the response was lost */
  async commit(): Promise<void> {
    this.#inTransaction = false;
    try {
      await this.#send('commit');
    } catch (error) {
      throw leavesOutcomeOpen(error) ? new OutcomeUnknown(error) : error;
    }
  }

  /** Ignores errors: the server rolls back when a connection is lost, and the original error matters more. */
  async rollback(): Promise<void> {
    this.#inTransaction = false;
    await this.#send('rollback').catch((error: Error) => this.#destroy(error));
  }

  /** One round trip. */
  async ping(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#waiters.expire(timeoutMs), timeoutMs);
    try {
      await retrying(() => this.#send('SELECT 1'));
    } finally {
      clearTimeout(timer);
    }
  }

  async #sendAlone(sql: string, parameters: readonly unknown[]): Promise<DriverResult> {
    try {
      return await retrying(() => this.#send(sql, parameters));
    } catch (error) {
      const isOpen = !readPattern.test(sql) && leavesOutcomeOpen(error);
      throw isOpen ? new OutcomeUnknown(error) : error;
    }
  }

  #send(sql: string, parameters: readonly unknown[] = []): Promise<DriverResult> {
    const { promise, resolve, reject } = Promise.withResolvers<DriverResult>();
    this.#waiters.add(reject);
    try {
      this.#raw.query(sql, parameters as unknown[], (error: QueryError | null, result: unknown) => {
        this.#waiters.remove(reject);
        this.#usedAtMs = performance.now();
        if (error === null) return resolve(result as DriverResult);
        this.#judge(error);
        reject(error);
      });
    } catch (error) {
      // The driver cannot serialise a value.
      this.#waiters.remove(reject);
      reject(error);
    }
    return promise;
  }

  #judge(error: QueryError): void {
    if (isWriteRefusal(error)) this.#owner.noteWriteRefusal();
    if (isConnectionSpent(error)) this.#destroy(error);
  }

  release(): void {
    this.#owner.release(this);
  }

  /** Makes the connection unusable; the pool discards it on release. Rejects pending calls, as the driver would not. */
  #destroy(error: Error): void {
    this.#waiters.fail(error);
    if (!this.#usable) return;
    this.#usable = false;
    closeSocket(this.#raw);
  }

  /** Makes the connection unusable, because the server does not respond. */
  abandon(error: Error): void {
    this.#destroy(error);
  }

  /** Closes the connection cleanly. */
  async close(): Promise<void> {
    if (!this.#usable) return;
    this.#usable = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#raw.end(() => resolve());
    await promise;
    closeSocket(this.#raw);
  }
}

function resultOf<Row>(result: DriverResult): QueryResult<Row> {
  if (Array.isArray(result)) return { rows: result as Row[] };
  return { rows: [], numAffectedRows: BigInt(result.affectedRows) };
}

/** Adds the caller's stack, because the driver's error only has that of the socket's event. */
function withCallers(error: unknown): unknown {
  if (error instanceof Error)
    error.stack += `\n${new Error().stack!.split('\n').slice(2).join('\n')}`;
  return error;
}
