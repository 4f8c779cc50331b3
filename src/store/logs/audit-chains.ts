/** Knows the audit_chains table and the places of rows of audit_log: what is sealed, in which order, up to where. */
import { sql } from 'kysely';
import type { ChainEnds, Seal, SealedRow } from '../../model/logs/audit-chain.ts';
import type { Db } from '../connection/db.ts';
import type { AuditRow } from './audit-log.ts';

export interface AuditChainRow extends ChainEnds {
  /** Proves the ends. */
  readonly proof: Buffer;
  /** When the head was last told to the log of the server, milliseconds since the epoch. */
  readonly told_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    audit_chains: AuditChainRow;
  }
}

/** Those of these organisations that have rows without a place. */
export async function listDue(db: Db, organisationIds: readonly string[]): Promise<string[]> {
  if (organisationIds.length === 0) return [];
  const rows = await db
    .selectFrom('audit_log')
    .select('organisation_id')
    .where('organisation_id', 'in', organisationIds)
    .where('chain_position', 'is', null)
    .groupBy('organisation_id')
    .orderBy('organisation_id')
    .execute();
  return rows.map(({ organisation_id }) => organisation_id);
}

export function find(db: Db, organisationId: string): Promise<AuditChainRow | undefined> {
  return db
    .selectFrom('audit_chains')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .executeTakeFirst();
}

/** As {@link find}; nobody else moves its ends until the transaction ends. */
export function findForUpdate(tx: Db, organisationId: string): Promise<AuditChainRow | undefined> {
  return tx
    .selectFrom('audit_chains')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .forUpdate()
    .executeTakeFirst();
}

/** Up to `limit` rows that have no place yet, oldest first. */
export function listUnsealed(db: Db, organisationId: string, limit: number): Promise<AuditRow[]> {
  return db
    .selectFrom('audit_log')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('chain_position', 'is', null)
    .orderBy('at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

export async function countUnsealed(db: Db, organisationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('audit_log')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('organisation_id', '=', organisationId)
    .where('chain_position', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Gives rows that have none their places; throws where another has given some of them one. */
export async function seal(
  tx: Db,
  organisationId: string,
  seals: readonly (Seal & Pick<AuditRow, 'at'>)[],
): Promise<void> {
  const column = (name: 'chain_position' | 'chain_previous' | 'chain_hash') => {
    const cases = seals.map((one) => sql`WHEN ${one.id} THEN ${one[name]}`);
    return sql`${sql.ref(name)} = CASE id ${sql.join(cases, sql` `)} END`;
  };
  const { numAffectedRows } = await sql`
    UPDATE audit_log
    SET ${sql.join([column('chain_previous'), column('chain_hash'), column('chain_position')])}
    WHERE organisation_id = ${organisationId} AND at >= ${seals[0]!.at} AND at <= ${seals.at(-1)!.at}
      AND id IN (${sql.join(seals.map(({ id }) => id))}) AND chain_position IS NULL`.execute(tx);
  if (Number(numAffectedRows) < seals.length)
    throw new Error('another has sealed some of the rows');
}

/** Writes the ends of a chain that {@link findForUpdate} has found, or has not found. */
export async function save(tx: Db, chain: AuditChainRow, isNew: boolean): Promise<void> {
  if (isNew) {
    await tx.insertInto('audit_chains').values(chain).execute();
    return;
  }
  const { organisation_id, ...ends } = chain;
  await tx
    .updateTable('audit_chains')
    .set(ends)
    .where('organisation_id', '=', organisation_id)
    .execute();
}

/** A row with a place, from which on rows are read. */
export type Place = Pick<SealedRow, 'chain_position' | 'at' | 'id'>;

/** Up to `limit` rows that have a place, in its order, behind one; null for the first. */
export async function listSealed(
  db: Db,
  organisationId: string,
  after: Place | null,
  limit: number,
): Promise<(AuditRow & SealedRow)[]> {
  let query = db
    .selectFrom('audit_log')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('chain_position', '>=', after?.chain_position ?? 0);
  if (after !== null) {
    const { chain_position, at, id } = after;
    query = query.where((eb) =>
      eb.or([
        eb('chain_position', '>', chain_position),
        eb('at', '>', at),
        eb.and([eb('at', '=', at), eb('id', '>', id)]),
      ]),
    );
  }
  const rows = await query
    .orderBy('chain_position')
    .orderBy('at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows as (AuditRow & SealedRow)[];
}

/** Up to `limit` rows of places behind one. */
export async function listBeyond(
  db: Db,
  organisationId: string,
  position: number,
  limit: number,
): Promise<SealedRow[]> {
  const rows = await db
    .selectFrom('audit_log')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('chain_position', '>', position)
    .orderBy('chain_position')
    .limit(limit)
    .execute();
  return rows as SealedRow[];
}

/** Deletes all rows up to a place. */
export async function deleteUpTo(tx: Db, organisationId: string, position: number): Promise<void> {
  await tx
    .deleteFrom('audit_log')
    .where('organisation_id', '=', organisationId)
    .where('chain_position', '<=', position)
    .execute();
}
