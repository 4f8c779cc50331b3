/** Selects the files of Debian packages that the image contains, with all libraries they load. */
import { posix } from 'node:path';
import { linkedPath, type UnpackedPackage } from './debian/unpack-package.ts';
import { readElf } from './elf.ts';
import { type FileTree, file, folder, link } from './file-tree.ts';

/** Programs for Git sources, signatures and the start of the container, as in scripts/image/collect.sh. */
export const imagePrograms = ['git', 'ssh', 'ssh-keygen', 'gpg', 'tini', 'sh', 'env'];

/** Packages that contain the programs and the files below; the lock adds those of their libraries. */
export const programPackages = [
  'base-files',
  'ca-certificates',
  'coreutils',
  'dash',
  'git',
  'gpg',
  'libatomic1',
  'libstdc++6',
  'openssh-client',
  'tini',
];

const gitPrograms = 'usr/lib/git-core';
const authorities = 'usr/share/ca-certificates/mozilla/';
const libraryFolders = {
  amd64: 'usr/lib/x86_64-linux-gnu',
  arm64: 'usr/lib/aarch64-linux-gnu',
} as const;

/** The user of the image. */
export const imageUser = 65_532;

export interface SelectedFiles {
  readonly tree: FileTree;
  /** Names of the packages of which the image contains files. */
  readonly packages: ReadonlySet<string>;
}

/**
 * Selects the programs, Node and their libraries.
 *
 * @throws Error that names a program or library that no package contains
 */
export function selectFiles(
  packages: ReadonlyMap<string, UnpackedPackage>,
  architecture: keyof typeof libraryFolders,
  node: Buffer,
): SelectedFiles {
  const collector = new Collector(packages, libraryFolders[architecture]);
  for (const name of imagePrograms) collector.add(`usr/bin/${name}`);
  collector.add(`${gitPrograms}/git-remote-http`);
  collector.addLibrariesOf(node);
  const { tree, used } = collector;
  tree.set('usr/local/bin/node', file(node, 0o755));
  tree.set('usr/local/bin/gatewright', link('/opt/gatewright/dist/main.js'));
  for (const name of ['bin', 'lib', 'lib64']) tree.set(name, link(`usr/${name}`));
  // Git calls itself under several names, and a separate program for https.
  tree.set(`${gitPrograms}/git`, link('/usr/bin/git'));
  tree.set(`${gitPrograms}/git-remote-https`, link('git-remote-http'));
  tree.set('usr/bin/git-upload-pack', link('git'));
  tree.set('usr/share/git-core/templates', folder());
  tree.set('etc/ssl/certs/ca-certificates.crt', file(bundledAuthorities(packages)));
  used.add('ca-certificates');
  const release = packages.get('base-files')?.tree.get('usr/lib/os-release');
  if (release?.type !== 'file') throw new Error('base-files has no usr/lib/os-release');
  tree.set('etc/os-release', file(release.bytes));
  used.add('base-files');
  addUsers(tree);
  for (const name of used) addRecord(tree, name, packages.get(name)!);
  return { tree, packages: used };
}

/** Copies files with the libraries they load, and notes the packages that they come from. */
class Collector {
  readonly tree: FileTree = new Map();
  readonly used = new Set<string>();
  readonly #packages: ReadonlyMap<string, UnpackedPackage>;
  readonly #libraries: string;

  constructor(packages: ReadonlyMap<string, UnpackedPackage>, libraries: string) {
    this.#packages = packages;
    this.#libraries = libraries;
  }

  /** Adds the file at its path; where a symbolic link is there, the file that it leads to. */
  add(path: string): void {
    if (this.tree.has(path)) return;
    const bytes = this.#read(path, path);
    this.tree.set(path, file(bytes, 0o755));
    this.addLibrariesOf(bytes);
  }

  addLibrariesOf(bytes: Buffer): void {
    const elf = readElf(bytes);
    if (elf === null) return;
    for (const name of elf.needed) this.add(`${this.#libraries}/${name}`);
    if (elf.interpreter !== null) this.add(linkedPath('', elf.interpreter));
  }

  #read(path: string, wanted: string): Buffer {
    for (const [name, { tree }] of this.#packages) {
      const entry = tree.get(path);
      if (entry === undefined || entry.type === 'folder') continue;
      this.used.add(name);
      if (entry.type === 'file') return entry.bytes;
      const target = linkedPath(path, entry.target);
      if (target !== path) return this.#read(target, wanted);
    }
    throw new Error(`no package of the image contains ${wanted}`);
  }
}

/** As update-ca-certificates does for a new installation. */
function bundledAuthorities(packages: ReadonlyMap<string, UnpackedPackage>): string {
  const { tree } = packages.get('ca-certificates') ?? { tree: new Map() as FileTree };
  const certificates = [...tree]
    .filter(([path]) => path.startsWith(authorities) && path.endsWith('.crt'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => (entry.type === 'file' ? `${entry.bytes.toString().trim()}\n` : ''));
  if (certificates.length === 0) throw new Error('ca-certificates has no certificates');
  return certificates.join('');
}

function addUsers(tree: FileTree): void {
  const user = `gatewright:x:${imageUser}:`;
  tree.set(
    'etc/passwd',
    file(`root:x:0:0:root:/:/bin/sh\n${user}${imageUser}:gatewright:/tmp:/bin/sh\n`),
  );
  tree.set('etc/group', file(`root:x:0:\n${user}\n`));
  tree.set('etc/nsswitch.conf', file('hosts: files dns\n'));
  tree.set('tmp', folder(0o1777));
  // Group 0 has the owner's permissions, for platforms that assign a random user to each container.
  tree.set('var/lib/gatewright', folder(0o770, imageUser, 0));
}

/** Records a package where vulnerability scanners look for it, with its licence. */
function addRecord(tree: FileTree, name: string, { control, tree: files }: UnpackedPackage): void {
  const stanza = control.replace(/^Package: .*$/m, '$&\nStatus: install ok installed');
  tree.set(posix.join('var/lib/dpkg/status.d', name), file(stanza));
  const copyright = licenceOf(name, files);
  if (copyright !== null) tree.set(`usr/share/doc/${name}/copyright`, file(copyright));
}

function licenceOf(name: string, files: FileTree): Buffer | null {
  const entry = files.get(`usr/share/doc/${name}/copyright`);
  return entry?.type === 'file' ? entry.bytes : null;
}
