/** Makes changes of folders durable, and names the faults of disks in words. */
import { open } from 'node:fs/promises';

/** Makes the names in the folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Reasons by code for which a folder takes no changes; what a missing one means is for its owner to say. */
export const diskFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its quota is used up',
  EROFS: 'it is read-only',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
};
