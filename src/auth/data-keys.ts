/** Knows how the keys that the database keeps are made, opened and put under another master key. */
import { randomBytes } from 'node:crypto';
import { Failure } from '../failure.ts';
import type { Db } from '../store/connection/db.ts';
import * as dataKeys from '../store/tables/data-keys.ts';
import type { MasterKeys, MissingMasterKey } from './master-keys.ts';

const keyBytes = 32;
const batchRows = 100;

/** The key of an organisation; null where it has none yet. @throws MissingMasterKey */
export async function findDataKey(
  db: Db,
  masterKeys: MasterKeys,
  organisationId: string,
): Promise<Buffer | null> {
  const row = await dataKeys.find(db, organisationId);
  return row === undefined ? null : masterKeys.unwrap(row.wrapped_key, organisationId);
}

/** As {@link findDataKey}, made where there is none: of all who make one at once, all get the same. */
export async function ensureDataKey(
  db: Db,
  masterKeys: MasterKeys,
  organisationId: string,
): Promise<Buffer> {
  for (;;) {
    const found = await findDataKey(db, masterKeys, organisationId);
    if (found !== null) return found;
    // Read each time: a rotation may have begun since, and then nothing was inserted.
    const inUse = (await dataKeys.find(db, dataKeys.deploymentId))!.master_key_id;
    const wrapped_key = masterKeys.wrap(inUse, randomBytes(keyBytes), organisationId);
    const row = { organisation_id: organisationId, master_key_id: inUse, wrapped_key };
    await dataKeys.insert(db, row);
  }
}

/**
 * The key of the deployment, made at its first start. It proves the master key: without the right one it
 * cannot be opened. @throws MissingMasterKey, also where that of any other key is not here
 */
export async function openDeploymentKey(db: Db, masterKeys: MasterKeys): Promise<Buffer> {
  const { deploymentId } = dataKeys;
  if ((await dataKeys.find(db, deploymentId)) === undefined) {
    const master_key_id = masterKeys.currentId;
    const wrapped_key = masterKeys.wrap(master_key_id, randomBytes(keyBytes), deploymentId);
    await dataKeys.insertFirst(db, { master_key_id, wrapped_key });
  }
  const key = (await findDataKey(db, masterKeys, deploymentId))!;
  await assertAllHeld(db, masterKeys);
  return key;
}

async function assertAllHeld(db: Db, masterKeys: MasterKeys): Promise<void> {
  const fault = await findMissing(db, masterKeys);
  if (fault !== null) throw fault;
}

/** What to say of a master key that keys are under and that is not here; null where all are. */
export async function findMissing(
  db: Db,
  masterKeys: MasterKeys,
): Promise<MissingMasterKey | null> {
  const ids = [...(await dataKeys.countByMasterKey(db)).keys()];
  return ids.map(masterKeys.faultOf).find((fault) => fault !== null) ?? null;
}

/** How far a rotation has come, in data keys. */
export interface RotationProgress {
  /** Under the current master key, those made meanwhile included. */
  readonly done: number;
  readonly total: number;
}

/**
 * Puts every data key under the current master key, that of the deployment first: from then on new ones
 * are made under it, wherever they are made. Secrets and credentials stay as they are. May be broken off
 * anywhere and called again, by several at once. Yields how many keys it found under another.
 *
 * @throws MissingMasterKey before anything is changed, and Failure when another rotation has begun since
 */
export async function rotateMasterKey(
  db: Db,
  masterKeys: MasterKeys,
  { onProgress, signal }: { onProgress: (at: RotationProgress) => void; signal: AbortSignal },
): Promise<{ readonly rewrapped: number; readonly total: number }> {
  await assertAllHeld(db, masterKeys);
  const { currentId } = masterKeys;
  for (let rewrapped = 0; ; ) {
    signal.throwIfAborted();
    const progress = await readProgress(db, masterKeys);
    const rows = await dataKeys.listNotUnder(db, currentId, rewrapped === 0 ? 1 : batchRows);
    const [first] = rows;
    if (first === undefined) return { rewrapped, total: progress.total };
    if (rewrapped > 0 && first.organisation_id === dataKeys.deploymentId) throw overtaken();
    onProgress(progress);
    for (const row of rows) {
      const key = masterKeys.unwrap(row.wrapped_key, row.organisation_id);
      const wrapped_key = masterKeys.wrap(currentId, key, row.organisation_id);
      await dataKeys.rewrap(db, row, { master_key_id: currentId, wrapped_key });
    }
    rewrapped += rows.length;
  }
}

/** How many data keys are under the current master key. */
export async function readProgress(
  db: Db,
  { currentId }: Pick<MasterKeys, 'currentId'>,
): Promise<RotationProgress> {
  const counts = await dataKeys.countByMasterKey(db);
  const total = counts.values().reduce((sum, count) => sum + count, 0);
  return { done: counts.get(currentId) ?? 0, total };
}

function overtaken(): Failure {
  return new Failure(
    'retryable',
    'Another rotation to another master key has begun meanwhile; this one has ended. Look at ' +
      '`gatewright rotate-master-key --status`, and rotate again if that is meant.',
  );
}
