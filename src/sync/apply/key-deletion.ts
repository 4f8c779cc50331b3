/** Knows how a key is deleted with its files: not before it is gone, and never one of a key that stays. */
import { ApiRefusal } from '../server/refusal.ts';
import type { SecretOutput } from './secret-output.ts';
import { Stale } from './stale.ts';

/** `remove` deletes the key of this id; what it throws is thrown. */
export async function deleteWithFiles(
  output: SecretOutput,
  keyId: string,
  remove: () => Promise<void>,
): Promise<void> {
  const leave = await output.leave(keyId);
  try {
    await remove();
  } catch (error) {
    // Where it may be gone the marks stay, and the next run asks.
    const isThere = error instanceof Stale || (error instanceof ApiRefusal && !error.maybeDone);
    if (isThere) await leave.keep();
    throw error;
  }
  await leave.remove();
}
