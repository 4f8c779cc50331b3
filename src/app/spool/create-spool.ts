/** Creates the spool of this process, and reports what is wrong with it. */
import type { Log } from '../../log.ts';
import type { SpoolSettings } from '../../settings/groups/spool.ts';
import { Spool } from '../../spool/spool.ts';

export interface SpoolParts {
  readonly settings: { readonly spool: SpoolSettings };
  readonly keyring: { readonly spoolKey: Buffer };
  readonly log: Log;
}

/** Null when no folder is set. Opened when the keyring is open. */
export function createAppSpool({ settings, keyring, log }: SpoolParts): Spool | null {
  const { directory, bytesMax } = settings.spool;
  if (directory === null) return null;
  return new Spool({
    directory,
    bytesMax,
    readKey: () => keyring.spoolKey,
    now: Date.now,
    onDamage: ({ path, reason }) => log.error({ path, reason }, 'a file of the spool is damaged'),
  });
}

/** From this share of the bound on, the process is degraded. */
const nearlyFull = 0.8;

/** For `/readyz`; null while the spool has room and its disk works. */
export function describeSpoolFault(spool: Pick<Spool, 'figures'> | null): string | null {
  if (spool === null) return null;
  const { bytes, bytesMax, fault } = spool.figures();
  if (fault !== null) return `the spool takes no records: ${fault}; log rows wait in memory`;
  if (bytes < nearlyFull * bytesMax) return null;
  const percent = Math.floor((100 * bytes) / bytesMax);
  return `the spool is ${percent} % full; then the oldest log rows are dropped`;
}
