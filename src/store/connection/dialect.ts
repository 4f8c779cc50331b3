/** Knows how the query builder comes to connections, and how a statement that is written already goes past it. */
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

/** Lends a connection, which is released by its own method. */
export type Acquire = () => Promise<PooledConnection>;

/** As much as is asked here of a pool or a transaction. */
type Builder = Pick<Kysely<never>, 'executeQuery' | 'getExecutor'>;

type Execute = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>;

const ways = new WeakMap<object, Execute>();

/** A builder on connections that `acquire` lends. */
export function buildOn<Tables>(acquire: Acquire): Kysely<Tables> {
  const db = new Kysely<Tables>({ dialect: dialectOn(acquire) });
  ways.set(db, async (query) => {
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
 * The same as `db.executeQuery`, which takes a dozen promises and as many objects to find out again what
 * is known of a pool, and of a transaction while its work goes on.
 */
export function execute<Row>(db: Builder, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  const way = ways.get(db);
  return way === undefined ? db.executeQuery(query) : way(query);
}

/** Runs the work of a transaction with the short way open; who keeps the transaction finds it closed. */
export async function withShortWay<T>(tx: Builder, work: () => Promise<T>): Promise<T> {
  const connection = await tx.getExecutor().provideConnection(async (lent) => lent);
  ways.set(tx, (query) => connection.executeQuery(query));
  try {
    return await work();
  } finally {
    ways.delete(tx);
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

/** Who made the pools ends them. */
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
