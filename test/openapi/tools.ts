/** Provides linters of OpenAPI documents and a generator of clients, installed from npm once per clone. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installPackages } from '../support/run/npm-packages.ts';

/**
 * These 240 packages of 128 MB are no development dependencies, because `npm test` does not need them. The generator
 * needs an older TypeScript than the project has.
 */
const packages = [
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
];
const parent = resolve(import.meta.dirname, '../../.cache');
/** Named after the versions, so that other ones are installed anew. */
const folder = join(parent, `openapi-${packages.map((one) => one.split('@').at(-1)).join('-')}`);

/** The reason why the tools are not available; null if they are, possibly after an installation. */
export async function missingTools(): Promise<string | null> {
  const files = { '.spectral.yaml': 'extends: ["spectral:oas"]\n' };
  const reason = await installPackages(folder, packages, files);
  return reason === null ? null : `the linters cannot be installed (${reason})`;
}

interface ToolResult {
  readonly code: number;
  readonly output: string;
}

/** Runs a program of the packages in their folder. */
export function runTool(name: string, words: readonly string[]): Promise<ToolResult> {
  return runNode([join(folder, 'node_modules/.bin', name), ...words]);
}

/** Runs Node in the folder of the packages, where their modules are found. */
export function runNode(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<ToolResult> {
  const { promise, resolve: done } = Promise.withResolvers<ToolResult>();
  const env = { ...process.env, ...variables, REDOCLY_TELEMETRY: 'off', NO_UPDATE_NOTIFIER: '1' };
  const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
  execFile(process.execPath, words, options, (error, stdout, stderr) =>
    done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout || stderr }),
  );
  return promise;
}

/** Creates a folder for generated files, in which the packages are found too. */
export function createWorkFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(folder, 'work-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
