/** Makes changes of folders durable, and names the faults of disks in words. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes the names in the folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Ending of files that are being written. */
export const partSuffix = '.part';

/** Replaces the file as a whole, or leaves it as it was; durable when it resolves. One writer at a time. */
export async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  const part = `${path}${partSuffix}`;
  try {
    const file = await open(part, 'w', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Reasons by code for which a folder takes no changes; what a missing one means is for its owner to say. */
export const diskFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its quota is used up',
  EROFS: 'it is read-only',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
};
