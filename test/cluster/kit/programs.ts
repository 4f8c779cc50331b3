/** Knows where the programs of a test cluster come from: a prebuilt binary or Go for Kubernetes, Debian for the rest. */
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
import { unpackDebianPackages } from '../../debian-packages.ts';

const root = resolve(import.meta.dirname, '../../..');

/** What is fetched or built once for a clone: `bin` and, unpacked, the packages of Debian below `root`. */
export const programs = join(root, '.cache/kubernetes');

/** A folder with `hyperkube.zst` and `coredns.zst`, when nobody wants to wait for Go. */
const prebuilt = process.env.GATEWRIGHT_TEST_KUBERNETES ?? resolve(root, '../shared/kubernetes');

const kubernetesVersion = 'v1.34.4';
const etcdVersion = 'v3.6.4';
const coreDnsVersion = 'v1.13.1';

const names = [
  ...['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kube-scheduler'],
  ...['kubectl', 'kubelet'],
];

const packages = [
  ...['containerd', 'runc', 'containernetworking-plugins', 'iptables', 'conntrack'],
  ...['libip4tc2', 'libip6tc2', 'libxtables12', 'libnftnl11', 'libnfnetlink0', 'libmnl0'],
  ...['libnetfilter-conntrack3', 'busybox-static'],
];

/** Null where a program can be had; else why not. */
export function whyNoPrograms(): string | null {
  for (const name of ['hyperkube', 'coredns']) {
    if (existsSync(join(programs, 'bin', name)) || existsSync(archiveOf(name))) continue;
    if (spawnSync('go', ['version']).status !== 0) {
      return `there is no ${archiveOf(name)} and no Go to build it with`;
    }
  }
  return null;
}

const archiveOf = (name: string): string => join(prebuilt, `${name}.zst`);

/** Made once, each part whole or not at all. */
export function preparePrograms(): void {
  mkdirSync(join(programs, 'bin'), { recursive: true });
  for (const name of ['hyperkube', 'coredns']) {
    const target = join(programs, 'bin', name);
    if (existsSync(target)) continue;
    const draft = `${target}.${process.pid}`;
    if (existsSync(archiveOf(name))) {
      writeFileSync(draft, zstdDecompressSync(readFileSync(archiveOf(name))), { mode: 0o755 });
    } else {
      build(name, draft);
    }
    renameSync(draft, target);
  }
  for (const name of names) {
    const link = join(programs, 'bin', name);
    if (!existsSync(link)) symlinkSync('hyperkube', link);
  }
  const debian = join(programs, 'root');
  if (!existsSync(debian)) unpackDebianPackages(packages, debian, linkIptables);
}

/** Ten minutes on two busy processors when nothing is in Go's own cache. */
function build(name: string, target: string): void {
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
      (place) => `-X ${place}.gitVersion=${kubernetesVersion}`,
    );
    go('build', '-trimpath', '-ldflags', ['-s', '-w', ...stamps].join(' '), '-o', target, '.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The parts of Kubernetes are modules that its own go.mod finds beside it in its repository; for
 * others they are published under the minor version.
 */
function requireKubernetes(go: (...words: string[]) => string): void {
  const wanted = `k8s.io/kubernetes@${kubernetesVersion}`;
  const { GoMod } = JSON.parse(go('mod', 'download', '-json', wanted)) as { GoMod: string };
  const parts = readFileSync(GoMod, 'utf8').matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm);
  for (const [, part] of parts) {
    const version = kubernetesVersion.replace('v1.', 'v0.');
    go('mod', 'edit', `-replace=${part}=${part}@${version}`);
  }
  go('mod', 'edit', `-require=${wanted}`, `-require=go.etcd.io/etcd/server/v3@${etcdVersion}`);
}

/** Debian chooses between two kinds of iptables by links that are made at installation. */
function linkIptables(draft: string): void {
  for (const name of ['iptables', 'ip6tables'].flatMap(variants)) {
    rmSync(join(draft, 'usr/sbin', name), { force: true });
    symlinkSync('xtables-nft-multi', join(draft, 'usr/sbin', name));
  }
}

const variants = (name: string): string[] => [name, `${name}-save`, `${name}-restore`];
