/** Builds cosign with Go, once per clone, to prove that others can verify a release. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const cosignVersion = 'v3.1.3';
const folder = resolve(import.meta.dirname, `../../.cache/cosign-${cosignVersion}`);
const program = process.env.GATEWRIGHT_TEST_COSIGN ?? join(folder, 'cosign');

/** The reason why cosign is not available here; null if it is. */
export function missingCosign(): string | null {
  if (existsSync(program)) return null;
  const { stdout, error } = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (error !== undefined) return 'there is no Go to build cosign with';
  if (!/go1\.(?:2[5-9]|[3-9]\d)/.test(stdout)) return `${stdout.trim()} is too old for cosign`;
  try {
    mkdirSync(folder, { recursive: true });
    const source = `github.com/sigstore/cosign/v3/cmd/cosign@${cosignVersion}`;
    execFileSync('go', ['install', source], {
      env: { ...process.env, GOBIN: folder },
      stdio: 'pipe',
    });
    return null;
  } catch (thrown) {
    const { stderr } = thrown as { stderr?: Buffer };
    return `cosign cannot be built (${stderr?.toString().trim().split('\n').at(-1)})`;
  }
}

export interface CosignResult {
  readonly exitCode: number | null;
  readonly output: string;
}

export function cosign(words: readonly string[], env: Record<string, string> = {}): CosignResult {
  const { status, stdout, stderr } = spawnSync(program, words, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 2 ** 26,
  });
  return { exitCode: status, output: stdout + stderr };
}
