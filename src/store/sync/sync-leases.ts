/** Table functions for sync_leases: the run that may write for an owner, and the credential to which the owner is bound. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';

export interface SyncLeaseRow {
  organisation_id: string;
  owner: string;
  /** Consecutive number of the owner within the organisation, from 1. */
  number: number;
  /** The caller to which the owner is bound, even while the lease is free; '' before the first. */
  principal_id: string;
  /** '' while the lease is free. */
  run_id: string;
  /** The holder's display name. */
  holder: string;
  /** When the run acquired it, by the database's clock, milliseconds since the epoch. */
  held_since: number;
  /** 1 while the run has nothing to write, so that a run with changes can take the lease at once. */
  yields: number;
  /** Incremented by every acquisition and release; a write with an older fence is rejected. */
  fence: number;
  /** By the database's clock, milliseconds since the epoch. */
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_leases: SyncLeaseRow;
  }
}

const table = rows('sync_leases');

export interface LeaseClaim {
  readonly organisationId: string;
  readonly owner: string;
  readonly principalId: string;
  /** UUID of the run. A repeated claim renews the lease, so that a retry after a lost response is safe. */
  readonly runId: string;
  readonly holder: string;
  readonly ttlMs: number;
  /** Whether the run has nothing to write: it takes the lease from no other run and yields it. */
  readonly yields: boolean;
  /** Whether to bind the owner to this caller although it is bound to another. */
  readonly takesOver: boolean;
}

/** Maximum number of owners of an organisation. Their rows are never deleted, because fences must not restart. */
export const ownersMax = 1000;

const highest = sql<number>`COALESCE(MAX(number), 0)`;

/**
 * Inserts the row for {@link update} with the organisation's next number. Does nothing when the row
 * exists, when a concurrent insert took the number, or when the organisation has {@link ownersMax} owners.
 */
export async function insertNext(tx: Db, organisationId: string, owner: string): Promise<void> {
  await tx
    .insertInto('sync_leases')
    .ignore()
    .columns([
      'organisation_id',
      'owner',
      'number',
      'principal_id',
      'run_id',
      'holder',
      'held_since',
      'yields',
      'fence',
      'expires_at',
    ])
    .expression((from) =>
      from
        .selectFrom('sync_leases')
        .select([
          sql`${organisationId}`.as('organisation_id'),
          sql`${owner}`.as('owner'),
          sql`${highest} + 1`.as('number'),
          sql`''`.as('principal_id'),
          sql`''`.as('run_id'),
          sql`''`.as('holder'),
          sql`0`.as('held_since'),
          sql`0`.as('yields'),
          sql`0`.as('fence'),
          sql`0`.as('expires_at'),
        ])
        .where('organisation_id', '=', organisationId)
        .having(sql<boolean>`${highest} < ${ownersMax}`),
    )
    .execute();
}

/** Whether the organisation has reached {@link ownersMax}. */
export async function hasMaximumOwners(db: Db, organisationId: string): Promise<boolean> {
  const { number } = await db
    .selectFrom('sync_leases')
    .select(highest.as('number'))
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow();
  return number >= ownersMax;
}

/**
 * Acquires the lease, or renews it for the run that holds it. Returns false when another run holds it
 * and does not yield, or when the owner is bound to another caller. Only one of concurrent calls succeeds.
 */
export async function update(tx: Db, claim: LeaseClaim): Promise<boolean> {
  const { principalId, runId, holder, ttlMs, yields, takesOver } = claim;
  const result = await ofOwner(tx, claim)
    .set({
      // First, because MySQL evaluates assignments from left to right and `run_id` changes below.
      fence: sql<number>`fence + (run_id <> ${runId})`,
      held_since: sql<number>`CASE WHEN run_id = ${runId} THEN held_since ELSE ${serverNowMs} END`,
      principal_id: principalId,
      run_id: runId,
      holder,
      yields: Number(yields),
      expires_at: sql<number>`${serverNowMs} + ${ttlMs}`,
    })
    .where((is) =>
      is.or([
        is('run_id', '=', runId),
        is('expires_at', '<=', serverNowMs),
        ...(yields ? [] : [is('yields', '=', 1)]),
      ]),
    )
    .where(sql<boolean>`(principal_id IN ('', ${principalId}) OR ${Number(takesOver)})`)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Releases the lease. The new fence rejects writes that the run still has in flight. */
export async function updateReleased(
  tx: Db,
  held: Pick<LeaseClaim, 'organisationId' | 'owner' | 'principalId'> & { readonly fence: number },
): Promise<void> {
  await ofOwner(tx, held)
    .set({ run_id: '', fence: sql<number>`fence + 1`, expires_at: 0 })
    .where('principal_id', '=', held.principalId)
    .where('fence', '=', held.fence)
    .execute();
}

/** Binds the owner to a new credential, after the old one was lost. */
export async function updatePrincipal(
  tx: Db,
  organisationId: string,
  owner: string,
  principalId: string,
): Promise<void> {
  await ofOwner(tx, { organisationId, owner })
    .set({ principal_id: principalId, run_id: '', fence: sql<number>`fence + 1`, expires_at: 0 })
    .execute();
}

export const find = table.findBy('organisation_id', 'owner');
export const findForUpdate = table.findByForUpdate('organisation_id', 'owner');

/** Prevents another run from acquiring the lease until the transaction ends; writers of one run share the lock. */
export function findForShare(
  tx: Db,
  organisationId: string,
  owner: string,
): Promise<SyncLeaseRow | undefined> {
  return table.findForShare(tx, { organisation_id: organisationId, owner });
}

function ofOwner(tx: Db, lease: Pick<LeaseClaim, 'organisationId' | 'owner'>) {
  return tx
    .updateTable('sync_leases')
    .where('organisation_id', '=', lease.organisationId)
    .where('owner', '=', lease.owner);
}
