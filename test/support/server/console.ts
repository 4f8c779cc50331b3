/** Starts a real server with a console and a documentation of a few small files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type ServerOverrides, startTestServer, type TestServer, testSettings } from './server.ts';

export const consoleTexts = {
  'index.html': '<!doctype html><script type="module" src="console/app-1a2b.js"></script>',
  'app-1a2b.js': `export const text = '${'much to compress '.repeat(200)}';`,
  'app-3c4d.css': 'body { color: CanvasText }',
  'mark-5e6f.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
} as const;

export const docsTexts = {
  'index.html': '<!doctype html><title>Start</title>',
  'guides/console/index.html': `<!doctype html><p>${'much to compress '.repeat(200)}</p>`,
  '_astro/page.1a2b.css': 'body { color: CanvasText }',
} as const;

/** The files on disk: texts are compressed, the data of the search is not. */
const docsFiles: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(
    Object.entries(docsTexts).map(([name, text]) => [`${name}.gz`, gzipSync(text)]),
  ),
  'pagefind/wasm.en.pagefind': Buffer.from([0, 1, 2, 255]),
};

export interface ConsoleServer extends TestServer {
  /** Folder of the files. */
  readonly folder: string;
}

export async function startConsoleServer(overrides: ServerOverrides = {}): Promise<ConsoleServer> {
  const work = mkdtempSync(join(tmpdir(), 'console-'));
  const folder = join(work, 'console');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(consoleTexts)) writeFileSync(join(folder, name), text);
  for (const [name, bytes] of Object.entries(docsFiles)) {
    mkdirSync(join(work, 'docs', dirname(name)), { recursive: true });
    writeFileSync(join(work, 'docs', name), bytes);
  }
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
      rmSync(work, { recursive: true });
    },
  };
}

/** Settings that switch the console on. */
export function consoleSettings(): Pick<TestServer['settings'], 'server'> {
  return { server: { ...testSettings().server, console: true } };
}
