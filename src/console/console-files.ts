/** Reads the files of the built console into memory. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { Failure } from '../failure.ts';
import { compressBytes, type DocumentCoding } from '../http/responses/content-coding.ts';
import { weakTagOf } from '../http/responses/entity-tag.ts';
import { packageRoot } from '../package-root.ts';
import { type DocsFiles, listDocsFiles } from './docs-files.ts';

/** One file, compressed once for each coding, on first use. */
export class ConsoleFile {
  readonly contentType: string;
  /** Weak, because all codings of the file share it. */
  readonly tag: string;
  readonly #bytes: Buffer;
  readonly #coded = new Map<DocumentCoding, Promise<Buffer | null>>();

  constructor(bytes: Buffer, contentType: string) {
    this.#bytes = bytes;
    this.contentType = contentType;
    this.tag = weakTagOf(bytes);
  }

  /** The bytes in a coding, or plain with null; plain too if compression fails, as for lack of memory. */
  async read(
    coding: DocumentCoding | null,
  ): Promise<{ readonly bytes: Buffer; readonly coding: DocumentCoding | null }> {
    const coded = coding === null ? null : await this.#code(coding);
    return coded === null ? { bytes: this.#bytes, coding: null } : { bytes: coded, coding };
  }

  #code(coding: DocumentCoding): Promise<Buffer | null> {
    const existing = this.#coded.get(coding);
    if (existing !== undefined) return existing;
    const made = compressBytes(this.#bytes, coding).catch(() => null);
    this.#coded.set(coding, made);
    return made;
  }
}

export interface ConsoleFiles {
  readonly page: ConsoleFile;
  /** By name: `app-1a2b3c.js`. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
  /** Null where the documentation is not built. */
  readonly docs: DocsFiles | null;
}

const pageName = 'index.html';

/** Files with another ending are not served. */
const assetTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const assetNamePattern = /^[\w][\w.-]{0,127}$/;

/** @throws Failure (invalid input) when the folder has no page */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const path = join(folder, pageName);
  if (!existsSync(path)) throw missingConsole(path);
  const assets = new Map<string, ConsoleFile>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const type = assetTypes[extname(entry.name)];
    if (!entry.isFile() || type === undefined || !assetNamePattern.test(entry.name)) continue;
    assets.set(entry.name, new ConsoleFile(readFileSync(join(folder, entry.name)), type));
  }
  const page = new ConsoleFile(readFileSync(path), 'text/html; charset=utf-8');
  return { page, assets, docs: listDocsFiles(join(dirname(folder), 'docs')) };
}

const isSource = import.meta.filename.endsWith('.ts');

/**
 * Folder of the built console: beside the program in a package, `.cache/console` in a clone. The built
 * documentation is in the folder `docs` beside it.
 */
export function builtConsoleFolder(): string {
  if (isSource) return join(packageRoot(), '.cache/console');
  return join(dirname(import.meta.dirname), 'console');
}

/** Whether this installation contains the console. */
export function isConsoleBuilt(): boolean {
  return existsSync(join(builtConsoleFolder(), pageName));
}

function missingConsole(path: string): Failure {
  const fix = isSource
    ? 'Build it with `npm start`'
    : 'Install gatewright again, because the package is incomplete';
  return new Failure(
    'invalidInput',
    `GATEWRIGHT_CONSOLE_ENABLED is ON, but the console is not built: ${path} does not exist. ` +
      `${fix}, or set GATEWRIGHT_CONSOLE_ENABLED=OFF.`,
  );
}
