/** Tests that the sources run with the packages that `npm start` installs, without those for development and optional ones. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Imports of the sources find the packages of `dependencies` only. */
const hooks = `
  import { registerHooks } from 'node:module';
  const present = new Set(${JSON.stringify(Object.keys(dependencies))});
  registerHooks({ resolve: (specifier, context, next) => {
    const [name] = /^(?:@[^/]+\\/)?[^/:.@#][^/:]*(?=\\/|$)/.exec(specifier) ?? [];
    const isOfSources = context.parentURL?.startsWith(${JSON.stringify(pathToFileURL(join(root, 'src')).href)});
    if (name === undefined || !isOfSources || present.has(name)) return next(specifier, context);
    throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
  } });`;

async function runModule(code: string): Promise<string> {
  const preload = `data:text/javascript,${encodeURIComponent(hooks)}`;
  const words = ['--import', preload, '--input-type=module', '--eval', code];
  return (await promisify(execFile)(process.execPath, words, { cwd: root })).stdout;
}

describe('a clone with the packages of npm start', () => {
  it('loads every command', async () => {
    const commands = readdirSync(join(root, 'src/commands'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.ts'));
    expect(commands.length).toBeGreaterThan(50);
    const code = `
      for (const name of ${JSON.stringify(commands)}) await import('./src/commands/' + name);
      console.log('loaded');`;
    expect(await runModule(code)).toBe('loaded\n');
  });

  it('names the missing package and how to install it where Kubernetes is used', async () => {
    const code = `
      const { openCluster } = await import('./src/commands/sources/cluster.ts');
      await openCluster('.', { configFile: null }).catch(({ name, message }) => console.log(name, message));`;
    expect(await runModule(code)).toBe(
      'Failure Kubernetes needs the package @kubernetes/client-node, which npm start does not install: run npm install --omit=dev\n',
    );
  });
});
