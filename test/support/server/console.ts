/** Starts a real server with a console of a few small files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerOverrides, startTestServer, type TestServer, testSettings } from './server.ts';

export const consoleTexts = {
  'index.html': '<!doctype html><script type="module" src="console/app-1a2b.js"></script>',
  'app-1a2b.js': `export const text = '${'much to compress '.repeat(200)}';`,
  'app-3c4d.css': 'body { color: CanvasText }',
  'mark-5e6f.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
} as const;

export interface ConsoleServer extends TestServer {
  /** Folder of the files. */
  readonly folder: string;
}

export async function startConsoleServer(overrides: ServerOverrides = {}): Promise<ConsoleServer> {
  const folder = mkdtempSync(join(tmpdir(), 'console-'));
  for (const [name, text] of Object.entries(consoleTexts)) writeFileSync(join(folder, name), text);
  const server = await startTestServer({
    ...overrides,
    consoleFolder: folder,
    settings: { ...consoleSettings(), ...overrides.settings },
  });
  return {
    ...server,
    folder,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Settings that switch the console on. */
export function consoleSettings(): Pick<TestServer['settings'], 'server'> {
  return { server: { ...testSettings().server, console: true } };
}
