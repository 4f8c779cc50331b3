/** Builds the documentation site for tests and reads its pages. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
/** `scripts/docs/build.ts` exits with it where the packages of the site cannot be had. */
const unreachableCode = 6;

export interface BuiltSite extends Disposable {
  readonly folder: string;
  /** HTML by address below the base path: `guides/regions/`. */
  readonly pages: ReadonlyMap<string, string>;
}

/** Returns why the site cannot be built here, as text, where its packages cannot be installed. */
export async function buildSite(base: string): Promise<BuiltSite | string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-docs-'));
  const dispose = (): void => rmSync(folder, { recursive: true, force: true });
  const words = [join(root, 'scripts/docs/build.ts'), '--base', base, '--out', folder];
  const { code, output } = await runNode(words);
  if (code !== 0) dispose();
  if (code === unreachableCode) return output.trim().split('\n').at(-1)!;
  if (code !== 0) throw new Error(`the site could not be built (exit ${code}):\n${output}`);
  const pages = new Map<string, string>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html')) continue;
    pages.set(
      name.replace(/(?:^|(?<=\/))index\.html$/, ''),
      readFileSync(join(folder, name), 'utf8'),
    );
  }
  return { folder, pages, [Symbol.dispose]: dispose };
}

function runNode(words: readonly string[]): Promise<{ code: number; output: string }> {
  const { promise, resolve: done } = Promise.withResolvers<{ code: number; output: string }>();
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
  execFile(process.execPath, words, options, (error, stdout, stderr) =>
    done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
  );
  return promise;
}
