/** Provides vtcombo (vtgate, tablets and topology in one program): from a setting, an earlier build, or Go. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const vitessVersion = 'v0.24.2';
const module = 'vitess.io/vitess';
/** Built once per clone; its sources are in Go's caches, shared by all clones. */
const directory = resolve(import.meta.dirname, '../../.cache/vitess');
const built = join(directory, `vtcombo-${vitessVersion}`);

/** The reason why it is not available; null if it is, possibly after a build. @param signal aborts the build */
export async function missingVitess(signal?: AbortSignal): Promise<string | null> {
  if (existsSync(vitessProgram())) return null;
  if (process.env.GATEWRIGHT_TEST_VITESS) return `there is no ${vitessProgram()}`;
  try {
    await promisify(execFile)('go', ['version']);
  } catch {
    return 'there is no Go to build Vitess with, and GATEWRIGHT_TEST_VITESS names no vtcombo';
  }
  try {
    await build(signal);
    return null;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    return `Vitess cannot be built (${(stderr.trim() || message).split('\n').at(-1)})`;
  }
}

/** Path of vtcombo. */
export function vitessProgram(): string {
  return process.env.GATEWRIGHT_TEST_VITESS || built;
}

/** Ten minutes on two busy processors with empty Go caches, half a minute with full ones. */
async function build(signal?: AbortSignal): Promise<void> {
  console.warn('building Vitess for the suite of sharded engines, which takes minutes');
  mkdirSync(directory, { recursive: true });
  const folder = mkdtempSync(join(directory, 'build-'));
  const go = (...words: string[]) =>
    promisify(execFile)('go', words, {
      cwd: folder,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod -buildvcs=false' },
      ...(signal && { signal }),
    });
  try {
    writeFileSync(join(folder, 'go.mod'), 'module vitess-for-tests\n');
    await go('get', `${module}/go/cmd/vtcombo@${vitessVersion}`);
    const draft = join(folder, 'vtcombo');
    await go('build', '-ldflags', '-s -w', '-o', draft, `${module}/go/cmd/vtcombo`);
    renameSync(draft, built);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
