/** Knows one connection of the pool: how a statement is sent, what its failure means, and whether it may be used again. */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Connection, QueryError, ResultSetHeader } from 'mysql2';
import { widened } from './beyond-ascii.ts';
import { discard } from './connect.ts';
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

/** Statements that change nothing, whatever becomes of them. */
const readPattern = /^\s*(?:select|show)\b/i;

/** Rows, or what became of a change. */
type DriverResult = unknown[] | ResultSetHeader;

/** What a connection asks of the pool that it is from. */
interface ConnectionOwner {
  release(connection: PooledConnection): void;
  /** Ends what the server still does for a connection that nobody listens to any more. */
  kill(stuck: Stuck): void;
  /** Takes note that the server takes no changes now. */
  noteWriteRefusal(): void;
}

/** In the shape the query builder asks for; it is passed by where a statement is written already. */
export class PooledConnection implements DatabaseConnection {
  readonly #raw: Connection;
  readonly #owner: ConnectionOwner;
  readonly #waiters: Waiters;
  #usable = true;
  /** Between `begin` and its end; what fails there is the transaction's to repeat. */
  #inTransaction = false;

  /** A `timeoutMs` of 0 means no limit. */
  constructor(raw: Connection, timeoutMs: number, owner: ConnectionOwner) {
    this.#raw = raw;
    this.#owner = owner;
    this.#waiters = new Waiters(timeoutMs, (ranMs) => {
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
    return this.#usable;
  }

  /** @throws OutcomeUnknown where the answer to a change outside of any transaction was lost */
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

  /** Of the shape, and asked for by nobody. */
  streamQuery(): never {
    throw new TypeError('rows are read all at once');
  }

  async begin(): Promise<void> {
    await this.#send('begin');
    this.#inTransaction = true;
  }

  /** @throws OutcomeUnknown where the answer was lost */
  async commit(): Promise<void> {
    this.#inTransaction = false;
    try {
      await this.#send('commit');
    } catch (error) {
      throw leavesOutcomeOpen(error) ? new OutcomeUnknown(error) : error;
    }
  }

  /** The server rolls back what a lost connection left open; the error that led here matters more. */
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
        if (error === null) return resolve(result as DriverResult);
        this.#judge(error);
        reject(error);
      });
    } catch (error) {
      // Of values that the driver cannot write.
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

  /**
   * Never used again; the pool drops it when it comes back. The driver would say nothing more to those
   * who wait.
   */
  #destroy(error: Error): void {
    this.#waiters.fail(error);
    if (!this.#usable) return;
    this.#usable = false;
    discard(this.#raw);
  }

  /** Takes leave of the server, without waiting for its answer. */
  async close(): Promise<void> {
    if (!this.#usable) return;
    this.#usable = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#raw.end(() => resolve());
    await promise;
    discard(this.#raw);
  }
}

function resultOf<Row>(result: DriverResult): QueryResult<Row> {
  if (Array.isArray(result)) return { rows: result as Row[] };
  return { rows: [], numAffectedRows: BigInt(result.affectedRows) };
}

/** The driver knows where an answer was read, and not who had asked. */
function withCallers(error: unknown): unknown {
  if (error instanceof Error)
    error.stack += `\n${new Error().stack!.split('\n').slice(2).join('\n')}`;
  return error;
}
