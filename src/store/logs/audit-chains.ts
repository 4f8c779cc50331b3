/** Table functions for audit_chains and the chain positions of audit_log: which rows are sealed, and in which order. */
import { sql } from 'kysely';
import type { ChainEnds, Seal, SealedRow } from '../../model/logs/audit-chain.ts';
import type { Db } from '../connection/db.ts';
import { atMost, moreThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import type { AuditRow } from './audit-log.ts';

export interface AuditChainRow extends ChainEnds {
  /** Authenticates the ends of the chain. */
  readonly proof: Buffer;
  /** When the head was last written to the server log, milliseconds since the epoch. */
  readonly told_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    audit_chains: AuditChainRow;
  }
}

/** Filters organisations to those with unsealed rows. */
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

const chains = rows('audit_chains');
const log = rows('audit_log');

export const find = chains.findBy('organisation_id');

/** As {@link find}; no other transaction can change its ends until this one ends. */
export const findForUpdate = chains.findByForUpdate('organisation_id');

/** Up to `limit` unsealed rows, oldest first. */
export function listUnsealed(db: Db, organisationId: string, limit: number): Promise<AuditRow[]> {
  const where = { organisation_id: organisationId, chain_position: null };
  return log.list(db, where, { orderBy: ['at', 'id'], limit });
}

export function countUnsealed(db: Db, organisationId: string): Promise<number> {
  return log.count(db, { organisation_id: organisationId, chain_position: null });
}

/** Sets the chain positions of unsealed rows. Throws when another transaction has sealed any of them. */
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
    throw new Error('another transaction has sealed some of the rows');
}

/** Writes the ends of a chain; `isNew` when {@link findForUpdate} returned undefined. */
export async function save(tx: Db, chain: AuditChainRow, isNew: boolean): Promise<void> {
  if (isNew) {
    await chains.insert(tx, chain);
    return;
  }
  const { organisation_id, ...ends } = chain;
  await chains.update(tx, { organisation_id }, ends);
}

/** The sealed row after which reading continues. */
export type ChainPosition = Pick<SealedRow, 'chain_position' | 'at' | 'id'>;

/** Up to `limit` sealed rows in chain order, after a row; null starts at the first. */
export async function listSealed(
  db: Db,
  organisationId: string,
  after: ChainPosition | null,
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
  const found = await query
    .orderBy('chain_position')
    .orderBy('at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return found as (AuditRow & SealedRow)[];
}

/** Up to `limit` rows beyond a chain position. */
export async function listBeyond(
  db: Db,
  organisationId: string,
  position: number,
  limit: number,
): Promise<SealedRow[]> {
  const where = { organisation_id: organisationId, chain_position: moreThan(position) };
  const found = await log.list(db, where, { orderBy: ['chain_position'], limit });
  return found as SealedRow[];
}

/** Deletes all rows up to a chain position. */
export async function deleteUpTo(tx: Db, organisationId: string, position: number): Promise<void> {
  await log.delete(tx, { organisation_id: organisationId, chain_position: atMost(position) });
}
