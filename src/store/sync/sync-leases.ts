/** Knows the sync_leases table: which run may write for an owner now, and which credential the owner is bound to. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { lockInShareMode } from '../rows/portable-sql.ts';

export interface SyncLeaseRow {
  organisation_id: string;
  owner: string;
  /** Counts the owners of the organisation, from 1. */
  number: number;
  /** The caller that the owner is bound to, also while nobody holds the lease; '' before the first. */
  principal_id: string;
  /** '' while nobody holds it. */
  run_id: string;
  /** What the holder calls itself, for people. */
  holder: string;
  /** When the run took it, by the database's clock, milliseconds since the epoch. */
  held_since: number;
  /** 1 while its run has nothing to write, and so lets in at once whoever has. */
  yields: number;
  /** Grows with every holding and every release; a write that carries an older one is refused. */
  fence: number;
  /** By the database's clock, milliseconds since the epoch. */
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    sync_leases: SyncLeaseRow;
  }
}

export interface Claimant {
  readonly organisationId: string;
  readonly owner: string;
  readonly principalId: string;
  /** UUID of the run; asking again with it renews, and is harmless when an answer was lost. */
  readonly runId: string;
  readonly holder: string;
  readonly ttlMs: number;
  /** Whether the run has nothing to write now: it takes the lease from nobody, and gives way. */
  readonly yields: boolean;
  /** Bind the owner to this caller although it is bound to another. */
  readonly takesOver: boolean;
}

/** Owners that one organisation may have; their rows stay for good, because fences must not begin again. */
export const ownersMax = 1000;

const highest = sql<number>`COALESCE(MAX(number), 0)`;

/**
 * Makes the row that {@link update} competes for, as the organisation's next: nothing where it is
 * there already, where another has become the next meanwhile, or where there are as many as may be.
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

/** Whether the organisation has as many owners as it may. */
export async function hasEveryOwner(db: Db, organisationId: string): Promise<boolean> {
  const { number } = await db
    .selectFrom('sync_leases')
    .select(highest.as('number'))
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow();
  return number >= ownersMax;
}

/**
 * Takes the lease, or renews it for the run that has it. True unless another run holds it and does
 * not give way, or the owner is bound to another caller; of any number at once one wins.
 */
export async function update(tx: Db, claimant: Claimant): Promise<boolean> {
  const { principalId, runId, holder, ttlMs, yields, takesOver } = claimant;
  const result = await ofOwner(tx, claimant)
    .set({
      // First, because assignments go from left to right: a new run has a new fence.
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

/** Lets the next run in at once, and shuts out what this one still has under way. */
export async function updateReleased(
  tx: Db,
  held: Pick<Claimant, 'organisationId' | 'owner' | 'principalId'> & { readonly fence: number },
): Promise<void> {
  await ofOwner(tx, held)
    .set({ run_id: '', fence: sql<number>`fence + 1`, expires_at: 0 })
    .where('principal_id', '=', held.principalId)
    .where('fence', '=', held.fence)
    .execute();
}

/** For an installation whose credential was lost: the owner belongs to the new one. */
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

export function find(
  db: Db,
  organisationId: string,
  owner: string,
): Promise<SyncLeaseRow | undefined> {
  return byOwner(db, organisationId, owner).executeTakeFirst();
}

export function findForUpdate(
  tx: Db,
  organisationId: string,
  owner: string,
): Promise<SyncLeaseRow | undefined> {
  return byOwner(tx, organisationId, owner).forUpdate().executeTakeFirst();
}

/** Keeps the lease from changing hands until the transaction ends; writers of one run share it. */
export function findForShare(
  tx: Db,
  organisationId: string,
  owner: string,
): Promise<SyncLeaseRow | undefined> {
  return byOwner(tx, organisationId, owner).modifyEnd(lockInShareMode).executeTakeFirst();
}

function byOwner(db: Db, organisationId: string, owner: string) {
  return db
    .selectFrom('sync_leases')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('owner', '=', owner);
}

function ofOwner(tx: Db, lease: Pick<Claimant, 'organisationId' | 'owner'>) {
  return tx
    .updateTable('sync_leases')
    .where('organisation_id', '=', lease.organisationId)
    .where('owner', '=', lease.owner);
}
