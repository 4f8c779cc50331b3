/** Creates, opens and rewraps the data keys stored in the database. */
import { randomBytes } from 'node:crypto';
import { Failure } from '../failure.ts';
import type { Db } from '../store/connection/db.ts';
import * as dataKeys from '../store/resources/data-keys.ts';
import type { MasterKeys, MissingMasterKey } from './master-keys.ts';

const keyBytes = 32;
const batchRows = 100;

/** The key of an organisation; null when it has none yet. @throws MissingMasterKey */
async function findDataKey(
  db: Db,
  masterKeys: MasterKeys,
  organisationId: string,
): Promise<Buffer | null> {
  const row = await dataKeys.find(db, organisationId);
  return row === undefined ? null : masterKeys.unwrap(row.wrapped_key, organisationId);
}

/** Like {@link findDataKey}, but creates a missing key. Concurrent calls all return the same key. */
export async function ensureDataKey(
  db: Db,
  masterKeys: MasterKeys,
  organisationId: string,
): Promise<Buffer> {
  for (;;) {
    const dataKey = await findDataKey(db, masterKeys, organisationId);
    if (dataKey !== null) return dataKey;
    // Read on each attempt: if a rotation has begun meanwhile, the insert had no effect.
    const inUse = (await dataKeys.find(db, dataKeys.deploymentId))!.master_key_id;
    const wrapped_key = masterKeys.wrap(inUse, randomBytes(keyBytes), organisationId);
    const row = { organisation_id: organisationId, master_key_id: inUse, wrapped_key };
    await dataKeys.insert(db, row);
  }
}

/**
 * Returns the key of the deployment, created at the first start. Opening it proves that the master key is
 * the right one. @throws MissingMasterKey, also when the master key of any other data key is missing
 */
export async function openDeploymentKey(db: Db, masterKeys: MasterKeys): Promise<Buffer> {
  const { deploymentId } = dataKeys;
  if ((await dataKeys.find(db, deploymentId)) === undefined) {
    const master_key_id = masterKeys.currentId;
    const wrapped_key = masterKeys.wrap(master_key_id, randomBytes(keyBytes), deploymentId);
    await dataKeys.insertFirst(db, { master_key_id, wrapped_key });
  }
  const key = (await findDataKey(db, masterKeys, deploymentId))!;
  await requireAllMasterKeys(db, masterKeys);
  return key;
}

async function requireAllMasterKeys(db: Db, masterKeys: MasterKeys): Promise<void> {
  const fault = await findMissingMasterKey(db, masterKeys);
  if (fault !== null) throw fault;
}

/** The error for a master key that wraps data keys but is not available; null when all are available. */
export async function findMissingMasterKey(
  db: Db,
  masterKeys: MasterKeys,
): Promise<MissingMasterKey | null> {
  const ids = [...(await dataKeys.countByMasterKey(db)).keys()];
  return ids.map(masterKeys.faultOf).find((fault) => fault !== null) ?? null;
}

/** Progress of a rotation, in data keys. */
export interface RotationProgress {
  /** Wrapped by the current master key, including keys created meanwhile. */
  readonly done: number;
  readonly total: number;
}

/**
 * Rewraps every data key with the current master key, starting with the deployment's: from then on every
 * replica wraps new keys with it. Stored secrets and credentials do not change. Can be interrupted at any
 * point and repeated, also concurrently. Resolves to the number of keys rewrapped.
 *
 * @throws MissingMasterKey before anything is changed; Failure when another rotation begins meanwhile
 */
export async function rotateMasterKey(
  db: Db,
  masterKeys: MasterKeys,
  { onProgress, signal }: { onProgress: (at: RotationProgress) => void; signal: AbortSignal },
): Promise<{ readonly rewrapped: number; readonly total: number }> {
  await requireAllMasterKeys(db, masterKeys);
  const { currentId } = masterKeys;
  for (let rewrapped = 0; ; ) {
    signal.throwIfAborted();
    const progress = await readProgress(db, masterKeys);
    const rows = await dataKeys.listNotUnder(db, currentId, rewrapped === 0 ? 1 : batchRows);
    const [first] = rows;
    if (first === undefined) return { rewrapped, total: progress.total };
    if (rewrapped > 0 && first.organisation_id === dataKeys.deploymentId)
      throw newerRotationFailure();
    onProgress(progress);
    for (const row of rows) {
      const key = masterKeys.unwrap(row.wrapped_key, row.organisation_id);
      const wrapped_key = masterKeys.wrap(currentId, key, row.organisation_id);
      await dataKeys.rewrap(db, row, { master_key_id: currentId, wrapped_key });
    }
    rewrapped += rows.length;
  }
}

/** Counts the data keys wrapped by the current master key. */
export async function readProgress(
  db: Db,
  { currentId }: Pick<MasterKeys, 'currentId'>,
): Promise<RotationProgress> {
  const counts = await dataKeys.countByMasterKey(db);
  const total = counts.values().reduce((sum, count) => sum + count, 0);
  return { done: counts.get(currentId) ?? 0, total };
}

function newerRotationFailure(): Failure {
  return new Failure(
    'retryable',
    'Another rotation, to another master key, began meanwhile and this one was stopped. Check ' +
      '`gatewright rotate-master-key --status` and rotate again if this key is the right one.',
  );
}
