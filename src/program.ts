/** Loads the program from its sources or from the built parts, with compiled code of earlier starts. */
import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as nodeModule from 'node:module';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** Path of the entry part, relative to this file. Defined by scripts/build.mjs; undefined in sources. */
declare const firstPart: string | undefined;

type CommandLine = typeof import('./commands/command-line.ts');

export interface Program {
  readonly commandLine: CommandLine;
  /** Saves compiled code for later starts of the same command; ignores errors. */
  saveCompiledCode(): Promise<void>;
}

/** `purpose` is the first word of the command line: starts that run different code get separate caches. */
export async function loadProgram(purpose: string): Promise<Program> {
  if (typeof firstPart === 'undefined') {
    const commandLine = await import('./commands/command-line.ts');
    return { commandLine, saveCompiledCode: async () => {} };
  }
  const file = join(import.meta.dirname, firstPart);
  const folder = nodeModule.getCompileCacheDir();
  const name = /^[a-z]{1,20}$/.test(purpose) ? purpose : 'other';
  // The name of the entry part changes with every build, so builds do not share caches.
  const cacheName = `gatewright-${name}-${basename(firstPart)}`;
  const cacheFile = folder === undefined ? null : join(folder, cacheName);
  const parts = new PartLoader(dirname(file), cacheFile);
  const commandLine = parts.load(file) as CommandLine;
  return { commandLine, saveCompiledCode: () => parts.saveCompiledCode() };
}

/**
 * Loads the parts of the bundle. Node's own compile cache holds only code compiled before a file
 * runs, without the functions that run later. This cache is saved after they have run, and so
 * contains the other half of what a start compiles.
 */
class PartLoader {
  readonly #folder: string;
  readonly #cacheFile: string | null;
  /** Compiled code by part name, which contains a hash of the source. */
  readonly #cachedCode: Map<string, Buffer>;
  readonly #scripts = new Map<string, Script>();
  readonly #modules = new Map<string, { exports: unknown }>();
  readonly #require: NodeJS.Require;
  #isComplete = true;

  constructor(folder: string, cacheFile: string | null) {
    this.#folder = folder;
    this.#cacheFile = cacheFile;
    this.#cachedCode = cacheFile === null ? new Map() : readCache(cacheFile);
    this.#require = nodeModule.createRequire(join(folder, 'part'));
  }

  load(file: string): unknown {
    const loaded = this.#modules.get(file);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} };
    this.#modules.set(file, module);
    const run = this.#compile(file).runInThisContext() as (...values: unknown[]) => void;
    const require = (id: string): unknown =>
      id.startsWith('./') ? this.load(join(this.#folder, id)) : this.#require(id);
    run(module.exports, require, module, file, this.#folder);
    return module.exports;
  }

  #compile(file: string): Script {
    const name = file.slice(this.#folder.length + 1);
    const source = readFileSync(file, 'utf8');
    const cachedData = this.#cachedCode.get(name);
    const script = new Script(
      `(function (exports, require, module, __filename, __dirname) { 'use strict'; ${source}\n})`,
      {
        filename: file,
        ...(cachedData === undefined ? {} : { cachedData }),
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      },
    );
    // Rejected code was compiled by another version of Node or with other flags.
    if (cachedData === undefined || script.cachedDataRejected === true) {
      this.#cachedCode.delete(name);
      this.#isComplete = false;
    }
    this.#scripts.set(name, script);
    return script;
  }

  /** Yields between parts so that requests wait for one part at most. */
  async saveCompiledCode(): Promise<void> {
    if (this.#isComplete || this.#cacheFile === null) return;
    this.#isComplete = true;
    for (const [name, script] of this.#scripts) {
      if (this.#cachedCode.has(name)) continue;
      await nextTurn();
      this.#cachedCode.set(name, script.createCachedData());
    }
    writeCache(this.#cacheFile, this.#cachedCode);
  }
}

/** The file starts with a checksum of the rest and the length of the part list, 4 bytes each. */
const prefixBytes = 8;

/**
 * Empty unless the file is intact and owned by this user: V8 executes cached code without checking
 * it.
 */
function readCache(file: string): Map<string, Buffer> {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(file, 'r');
    if (fstatSync(descriptor).uid !== process.getuid?.()) return new Map();
    const all = readFileSync(descriptor);
    if (crc32(all.subarray(4)) !== all.readUInt32LE(0)) return new Map();
    let at = prefixBytes + all.readUInt32LE(4);
    const list = all.toString('utf8', prefixBytes, at);
    const codeByPart = new Map<string, Buffer>();
    for (const [name, bytes] of JSON.parse(list) as [string, number][]) {
      codeByPart.set(name, all.subarray(at, at + bytes));
      at += bytes;
    }
    return codeByPart;
  } catch {
    return new Map();
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** Replaces the file atomically, so that concurrent starts read the old or the new version. */
function writeCache(file: string, codeByPart: ReadonlyMap<string, Buffer>): void {
  const list = Buffer.from(
    JSON.stringify([...codeByPart].map(([name, { length }]) => [name, length])),
  );
  const all = Buffer.concat([Buffer.alloc(prefixBytes), list, ...codeByPart.values()]);
  all.writeUInt32LE(list.length, 4);
  all.writeUInt32LE(crc32(all.subarray(4)), 0);
  const fresh = `${file}.${process.pid}`;
  try {
    // Exclusive creation follows no symbolic link, in case others can write to the folder.
    writeFileSync(fresh, all, { mode: 0o600, flag: 'wx' });
    renameSync(fresh, file);
  } catch {
    // On a full or read-only disk the next start is only slower.
    rmSync(fresh, { force: true });
  }
}
