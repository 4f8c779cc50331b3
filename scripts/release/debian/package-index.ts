/** Reads the index of a Debian suite, verified by the signature of its release file. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Architecture, download, sha256Of } from './package-lock.ts';

/** One package of an index. */
export interface IndexedPackage {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Names of the packages that it depends on; the first alternative of each. */
  readonly depends: readonly string[];
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const indexBytesMax = 2 ** 29;

/** @throws Error when the signature or a hash is wrong */
export async function readPackageIndex(
  mirror: string,
  suite: string,
  architecture: Architecture,
): Promise<ReadonlyMap<string, IndexedPackage>> {
  const base = `${mirror}/dists/${suite}`;
  const release = verifiedText(await download(`${base}/InRelease`));
  const name = `main/binary-${architecture}/Packages.xz`;
  const hashes = release.slice(release.indexOf('\nSHA256:'));
  const [, sha256] = new RegExp(`^ ([0-9a-f]{64}) +\\d+ ${name}$`, 'm').exec(hashes) ?? [];
  if (sha256 === undefined) throw new Error(`${base} has no ${name}`);
  const packed = await download(`${base}/${name}`);
  if (sha256Of(packed) !== sha256) throw new Error(`${base}/${name} has another hash than stated`);
  const { stdout } = spawnSync('xz', ['--decompress', '--stdout'], {
    input: packed,
    maxBuffer: indexBytesMax,
  });
  return new Map(stdout.toString().split('\n\n').filter(Boolean).map(readStanza));
}

function verifiedText(signed: Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-index-'));
  try {
    writeFileSync(join(folder, 'signed'), signed);
    const words = ['--keyring', keyring, '--output', join(folder, 'text'), join(folder, 'signed')];
    const { status, stderr, error } = spawnSync('gpgv', words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`gpgv rejects the index: ${error?.message ?? stderr}`);
    return readFileSync(join(folder, 'text'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readStanza(stanza: string): [string, IndexedPackage] {
  const field = (name: string): string =>
    new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
  const name = field('Package');
  const depends = [field('Pre-Depends'), field('Depends')]
    .flatMap((list) => list.split(','))
    .map((item) => /^\s*([a-z0-9.+-]+)/.exec(item)?.[1])
    .filter((item) => item !== undefined);
  const facts = { version: field('Version'), path: field('Filename'), sha256: field('SHA256') };
  return [name, { name, ...facts, bytes: Number(field('Size')), depends }];
}
