/** Provides the programs of a test cluster: Kubernetes prebuilt or built with Go, the rest from Debian packages. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { unpackDebianPackages } from '../../support/git/debian-packages.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Cache of the clone: programs in `bin`, unpacked Debian packages in `root`. */
export const programs = join(root, '.cache/kubernetes');

/** Folder with prebuilt `hyperkube.zst` and `coredns.zst`, to avoid the build with Go. */
const prebuilt = process.env.GATEWRIGHT_TEST_KUBERNETES ?? resolve(root, '../shared/kubernetes');

const kubernetesVersion = 'v1.34.4';
const etcdVersion = 'v3.6.4';
const coreDnsVersion = 'v1.13.1';

const names = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
];

const packages = [
  'containerd',
  'runc',
  'containernetworking-plugins',
  'iptables',
  'conntrack',
  'libip4tc2',
  'libip6tc2',
  'libxtables12',
  'libnftnl11',
  'libnfnetlink0',
  'libmnl0',
  'libnetfilter-conntrack3',
  'busybox-static',
];

type ProgramName = 'hyperkube' | 'coredns';

const archiveOf = (name: ProgramName): string => join(prebuilt, `${name}.zst`);

/** Prepares Kubernetes once for a clone. Returns why it is not available, or null. */
export function missingKubernetes(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'this is not Linux on x86-64';
  const missing = missingProgram('hyperkube');
  if (missing !== null) return missing;
  for (const name of names) {
    const link = join(programs, 'bin', name);
    if (!existsSync(link)) symlinkSync('hyperkube', link);
  }
  return null;
}

/** Prepares the other programs of nodes. Returns why they are not available, or null. */
export function missingNodePrograms(): string | null {
  const debian = join(programs, 'root');
  try {
    if (!existsSync(debian)) unpackDebianPackages(packages, debian, linkIptables);
  } catch (error) {
    return (error as Error).message.split('\n', 1)[0]!;
  }
  return missingProgram('coredns');
}

/** Prepares a program once, atomically. */
function missingProgram(name: ProgramName): string | null {
  const target = join(programs, 'bin', name);
  if (existsSync(target)) return null;
  const archive = archiveOf(name);
  const isPrebuilt = existsSync(archive);
  if (!isPrebuilt && spawnSync('go', ['version']).status !== 0) {
    return `there is no ${archive} and no Go to build it with`;
  }
  mkdirSync(join(programs, 'bin'), { recursive: true });
  const draft = `${target}.${process.pid}`;
  try {
    if (isPrebuilt) {
      writeFileSync(draft, zstdDecompressSync(readFileSync(archive)), { mode: 0o755 });
    } else {
      build(name, draft);
    }
  } catch (error) {
    return `Go cannot build ${name} (${(error as Error).message.split('\n', 1)[0]})`;
  }
  renameSync(draft, target);
  return null;
}

/** Takes ten minutes on two busy processors when the cache of Go is empty. */
function build(name: ProgramName, target: string): void {
  console.warn(`building ${name} for the test cluster, which takes minutes`);
  const folder = mkdtempSync(join(programs, 'build-'));
  const go = (...words: string[]): string =>
    execFileSync('go', words, {
      cwd: folder,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod -buildvcs=false' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  try {
    cpSync(join(import.meta.dirname, name, 'main.go'), join(folder, 'main.go'));
    go('mod', 'init', name);
    if (name === 'hyperkube') requireKubernetes(go);
    else go('get', `github.com/coredns/coredns@${coreDnsVersion}`);
    go('mod', 'tidy');
    const stamps = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
      (path) => `-X ${path}.gitVersion=${kubernetesVersion}`,
    );
    go('build', '-trimpath', '-ldflags', ['-s', '-w', ...stamps].join(' '), '-o', target, '.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The go.mod of Kubernetes replaces its staging modules by local folders. Outside of its repository, these
 * modules are published under the minor version.
 */
function requireKubernetes(go: (...words: string[]) => string): void {
  const module = `k8s.io/kubernetes@${kubernetesVersion}`;
  const { GoMod } = JSON.parse(go('mod', 'download', '-json', module)) as { GoMod: string };
  const parts = readFileSync(GoMod, 'utf8').matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm);
  for (const [, part] of parts) {
    const version = kubernetesVersion.replace('v1.', 'v0.');
    go('mod', 'edit', `-replace=${part}=${part}@${version}`);
  }
  go('mod', 'edit', `-require=${module}`, `-require=go.etcd.io/etcd/server/v3@${etcdVersion}`);
}

/** Creates the links that Debian would create at installation to select a variant of iptables. */
function linkIptables(draft: string): void {
  for (const name of ['iptables', 'ip6tables'].flatMap(variants)) {
    rmSync(join(draft, 'usr/sbin', name), { force: true });
    symlinkSync('xtables-nft-multi', join(draft, 'usr/sbin', name));
  }
}

const variants = (name: string): string[] => [name, `${name}-save`, `${name}-restore`];
