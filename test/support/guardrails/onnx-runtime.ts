/** Provides ONNX Runtime and models to tests: the runtime is downloaded once, because it is no dependency. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../../..');
const cache = join(root, '.cache/onnxruntime');
const version = '1.30.0';

/** Installs the runtime into the cache of this checkout unless it is there. */
export async function installRuntime(): Promise<void> {
  const modules = join(cache, 'node_modules');
  if (existsSync(join(modules, 'onnxruntime-node/package.json'))) return;
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, 'package.json'), '{ "private": true }\n');
  const args = ['install', `onnxruntime-node@${version}`, '--ignore-scripts', '--no-audit'];
  await promisify(execFile)('npm', args, { cwd: cache });
}

export interface ModelFolder extends AsyncDisposable {
  readonly path: string;
}

/** Copies a model of the fixtures into a folder of its own, with the runtime if it is wanted. */
export async function modelFolder(name: string, hasRuntime = true): Promise<ModelFolder> {
  const path = await mkdtemp(join(tmpdir(), 'gatewright-model-'));
  await cp(join(root, 'test/fixtures/guardrail-models', name), path, { recursive: true });
  if (hasRuntime) await symlink(join(cache, 'node_modules'), join(path, 'node_modules'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
