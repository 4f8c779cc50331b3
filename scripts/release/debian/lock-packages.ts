/** Writes the list of Debian packages in the image with their present versions: `node lock-packages.ts`. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { programPackages, selectFiles } from '../image-programs.ts';
import { fetchNode } from '../node-program.ts';
import { type IndexedPackage, readPackageIndex } from './package-index.ts';
import {
  type Architecture,
  architectures,
  type DebianLock,
  fetchPackage,
  type LockedPackage,
  lockPath,
} from './package-lock.ts';
import { type UnpackedPackage, unpackPackage } from './unpack-package.ts';

const suite = 'bookworm';
const cache = resolve(import.meta.dirname, '../../../.cache/release');
/** Dependencies of which the image needs nothing, with their own dependencies. */
const leftOut = ['perl', 'git-man', 'debconf', 'passwd', 'adduser', 'openssl', 'dpkg', 'gpgconf'];

/** A later suite replaces packages of an earlier one. */
const suites = [
  { mirror: 'debian', suite },
  { mirror: 'debian', suite: `${suite}-updates` },
  { mirror: 'security', suite: `${suite}-security` },
];

const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
// Debian removes replaced packages from its mirrors; the archive of snapshots retains them.
const mirrors = {
  debian: [
    'http://deb.debian.org/debian',
    `https://snapshot.debian.org/archive/debian/${today}T235959Z`,
  ],
  security: [
    'http://deb.debian.org/debian-security',
    `https://snapshot.debian.org/archive/debian-security/${today}T235959Z`,
  ],
};

interface MirroredPackage extends IndexedPackage {
  readonly mirror: string;
}

async function readIndexes(
  architecture: Architecture,
): Promise<ReadonlyMap<string, MirroredPackage>> {
  const found = new Map<string, MirroredPackage>();
  for (const { mirror, suite: name } of suites) {
    const [base] = mirrors[mirror as keyof typeof mirrors];
    for (const [title, one] of await readPackageIndex(base!, name, architecture)) {
      found.set(title, { ...one, mirror });
    }
  }
  return found;
}

function closureOf(index: ReadonlyMap<string, MirroredPackage>): MirroredPackage[] {
  const found = new Map<string, MirroredPackage>();
  const visit = (name: string): void => {
    const one = index.get(name);
    // Virtual packages are in no index.
    if (one === undefined || found.has(name) || leftOut.includes(name)) return;
    found.set(name, one);
    for (const dependency of one.depends) visit(dependency);
  };
  for (const name of programPackages) visit(name);
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function lock(architecture: Architecture): Promise<LockedPackage[]> {
  const located = closureOf(await readIndexes(architecture));
  const unpacked = new Map<string, UnpackedPackage>();
  for (const one of located) {
    unpacked.set(
      one.name,
      await unpackPackage(await fetchPackage({ mirrors }, one, cache), one.name),
    );
  }
  const { bytes } = await fetchNode(architecture, cache);
  const { packages } = selectFiles(unpacked, architecture, bytes);
  return located.filter(({ name }) => packages.has(name)).map(({ depends: _, ...one }) => one);
}

const packages: Record<string, LockedPackage[]> = {};
for (const architecture of architectures) packages[architecture] = await lock(architecture);
const written = { suite, mirrors, packages } as unknown as DebianLock;
writeFileSync(lockPath, `${JSON.stringify(written, null, 2)}\n`);
for (const architecture of architectures) {
  process.stdout.write(`${architecture}: ${packages[architecture]!.length} packages\n`);
}
