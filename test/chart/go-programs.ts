/** Builds tools for the chart suite from their Go modules, once for a clone. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const cache = resolve(import.meta.dirname, '../../.cache');

interface GoProgram {
  /** Path of the program. */
  readonly path: string;
  /** Why it cannot be built here; null when it is ready. */
  readonly missing: string | null;
}

/** Builds the package of a module, such as `github.com/zegl/kube-score/cmd/kube-score`, at a version. */
export function goProgram(name: string, module: string, version: string): GoProgram {
  const folder = join(cache, `${name}-${version}`);
  const path = join(folder, name);
  if (existsSync(path)) return { path, missing: null };
  mkdirSync(folder, { recursive: true });
  const missing = runGo(['install', `${module}@${version}`], `build ${name}`, { GOBIN: folder });
  return { path, missing: typeof missing === 'string' ? null : missing.reason };
}

/** Downloads a module and returns its folder. */
export function goModule(
  module: string,
  version: string,
): { readonly folder: string; readonly missing: string | null } {
  const words = ['mod', 'download', '-json', `${module}@${version}`];
  const output = runGo(words, `download ${module}`, {});
  if (typeof output !== 'string') return { folder: '', missing: output.reason };
  return { folder: (JSON.parse(output) as { Dir: string }).Dir, missing: null };
}

/** Returns the output, or why there is none. */
function runGo(
  words: readonly string[],
  purpose: string,
  env: Readonly<Record<string, string>>,
): string | { readonly reason: string } {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
  } catch {
    return { reason: `there is no Go to ${purpose} with` };
  }
  try {
    return execFileSync('go', words, {
      cwd: cache,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return { reason: `Go cannot ${purpose}: its modules cannot be fetched` };
  }
}
