/** Connects the query builder to the pool, and sends compiled statements without it. */
import {
  CompiledQuery,
  type Dialect,
  type Driver,
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { PooledConnection } from './pooled-connection.ts';

/** Lends a connection, which the borrower releases by `release`. */
export type Acquire = () => Promise<PooledConnection>;

/** The part of a pool or transaction used here. */
type Builder = Pick<Kysely<never>, 'executeQuery' | 'getExecutor'>;

type Execute = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>;

const direct = new WeakMap<object, Execute>();

/** Creates a query builder on connections from `acquire`. */
export function buildOn<Tables>(acquire: Acquire): Kysely<Tables> {
  const db = new Kysely<Tables>({ dialect: dialectOn(acquire) });
  direct.set(db, async (query) => {
    const connection = await acquire();
    try {
      return await connection.executeQuery(query);
    } finally {
      connection.release();
    }
  });
  return db;
}

/**
 * As `db.executeQuery`, which creates a dozen promises and as many objects to find the connection. Here
 * the connection of a pool, or of a running transaction, is looked up directly.
 */
export function execute<Row>(db: Builder, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  const send = direct.get(db);
  return send === undefined ? db.executeQuery(query) : send(query);
}

/** Whether statements reach the connection as they are: for a pool, and for a transaction while its work runs. */
export function isDirect(db: Builder): boolean {
  return direct.has(db);
}

/** Enables direct execution for the duration of a transaction's work. */
export async function withDirectExecution<T>(tx: Builder, work: () => Promise<T>): Promise<T> {
  const connection = await tx.getExecutor().provideConnection(async (lent) => lent);
  direct.set(tx, (query) => connection.executeQuery(query));
  try {
    return await work();
  } finally {
    direct.delete(tx);
  }
}

function dialectOn(acquire: Acquire): Dialect {
  return {
    createDriver: () => driverOn(acquire),
    createQueryCompiler: () => new MysqlQueryCompiler(),
    createAdapter: () => new MysqlAdapter(),
    createIntrospector: (db) => new MysqlIntrospector(db),
  };
}

/** The owner of the pools closes them. */
function driverOn(acquire: Acquire): Driver {
  const own = (connection: unknown) => connection as PooledConnection;
  return {
    init: async () => {},
    acquireConnection: acquire,
    beginTransaction: async (connection, { isolationLevel, accessMode }) => {
      const traits = [isolationLevel && `isolation level ${isolationLevel}`, accessMode];
      const set = traits.filter((trait) => trait !== undefined).join(', ');
      if (set !== '') await connection.executeQuery(CompiledQuery.raw(`set transaction ${set}`));
      await own(connection).begin();
    },
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    releaseConnection: async (connection) => own(connection).release(),
    destroy: async () => {},
  };
}
