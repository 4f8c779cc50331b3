/** Reads the list of Debian packages in the image, and downloads them, verified by their hashes. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const LockedPackage = z.object({
  name: z.string(),
  version: z.string(),
  /** Path below the mirror. */
  path: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().positive(),
  /** Index of the mirror in `mirrors`. */
  mirror: z.string(),
});

const DebianLock = z.object({
  suite: z.string(),
  /** Addresses to try in order, by the name of the mirror. */
  mirrors: z.record(z.string(), z.array(z.url()).min(1)),
  packages: z.object({ amd64: z.array(LockedPackage), arm64: z.array(LockedPackage) }),
});

export type LockedPackage = z.infer<typeof LockedPackage>;
export type DebianLock = z.infer<typeof DebianLock>;
export type Architecture = keyof DebianLock['packages'];
export const architectures: readonly Architecture[] = ['amd64', 'arm64'];

export const lockPath = resolve(import.meta.dirname, 'debian-packages.json');

export function readDebianLock(): DebianLock {
  return DebianLock.parse(JSON.parse(readFileSync(lockPath, 'utf8')));
}

/**
 * Returns the package's bytes from the cache folder or the first mirror that has it.
 *
 * @throws Error that names the package when no mirror has these bytes
 */
export async function fetchPackage(
  { mirrors }: Pick<DebianLock, 'mirrors'>,
  { name, version, path, sha256, mirror }: LockedPackage,
  cache: string,
): Promise<Buffer> {
  const cached = join(cache, `${sha256}.deb`);
  if (existsSync(cached)) {
    const bytes = readFileSync(cached);
    if (sha256Of(bytes) === sha256) return bytes;
  }
  const reasons: string[] = [];
  for (const base of mirrors[mirror] ?? []) {
    try {
      const bytes = await download(`${base}/${path}`);
      if (sha256Of(bytes) === sha256) {
        mkdirSync(cache, { recursive: true });
        writeFileSync(`${cached}.${process.pid}`, bytes);
        renameSync(`${cached}.${process.pid}`, cached);
        return bytes;
      }
      reasons.push(`${base} has other bytes`);
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  throw new Error(
    `the Debian package ${name} ${version} cannot be downloaded (${reasons.join('; ')}). ` +
      'Run node scripts/release/debian/lock-packages.ts for the present versions.',
  );
}

const downloadMsMax = 120_000;

/** @throws Error that names the address */
export async function download(url: string): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(downloadMsMax) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new Error(`${url}: ${reason}`, { cause: error });
  }
}

export function sha256Of(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
