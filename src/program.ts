/** Knows how the program is loaded: from its sources, or built, in parts and with what an earlier start compiled. */
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

/** Path of the part that begins, from here; the build says it (scripts/build.mjs), and sources have none. */
declare const firstPart: string | undefined;

type CommandLine = typeof import('./commands/command-line.ts');

export interface Program {
  readonly commandLine: CommandLine;
  /** Keeps what is compiled by now for later starts of the same command; says nothing if it cannot. */
  keepCompiled(): Promise<void>;
}

/** `purpose` tells starts apart that run different code, as its first word does. */
export async function loadProgram(purpose: string): Promise<Program> {
  if (typeof firstPart === 'undefined') {
    const commandLine = await import('./commands/command-line.ts');
    return { commandLine, keepCompiled: async () => {} };
  }
  const file = join(import.meta.dirname, firstPart);
  const folder = nodeModule.getCompileCacheDir();
  const name = /^[a-z]{1,20}$/.test(purpose) ? purpose : 'other';
  // The name of the first part changes with any of the others, so that two builds keep apart.
  const keptName = `gatewright-${name}-${basename(firstPart)}`;
  const keptFile = folder === undefined ? null : join(folder, keptName);
  const parts = new Parts(dirname(file), keptFile);
  const commandLine = parts.load(file) as CommandLine;
  return { commandLine, keepCompiled: () => parts.keepCompiled() };
}

/**
 * Node keeps compiled code as well, but of each file only what is compiled before it runs: nothing of
 * its functions. What is kept here is taken when they have run, which is half of what a start compiles.
 */
class Parts {
  readonly #folder: string;
  readonly #keptFile: string | null;
  /** Compiled code by the name of its part, which holds a hash of the source. */
  readonly #kept: Map<string, Buffer>;
  readonly #scripts = new Map<string, Script>();
  readonly #modules = new Map<string, { exports: unknown }>();
  readonly #require: NodeJS.Require;
  #isComplete = true;

  constructor(folder: string, keptFile: string | null) {
    this.#folder = folder;
    this.#keptFile = keptFile;
    this.#kept = keptFile === null ? new Map() : readKept(keptFile);
    this.#require = nodeModule.createRequire(join(folder, 'part'));
  }

  load(file: string): unknown {
    const known = this.#modules.get(file);
    if (known !== undefined) return known.exports;
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
    const cachedData = this.#kept.get(name);
    const script = new Script(
      `(function (exports, require, module, __filename, __dirname) { 'use strict'; ${source}\n})`,
      {
        filename: file,
        ...(cachedData === undefined ? {} : { cachedData }),
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      },
    );
    // Of another version of Node, or made under other flags.
    if (cachedData === undefined || script.cachedDataRejected === true) {
      this.#kept.delete(name);
      this.#isComplete = false;
    }
    this.#scripts.set(name, script);
    return script;
  }

  /** A part at a time, so that who asks in between waits for none but one. */
  async keepCompiled(): Promise<void> {
    if (this.#isComplete || this.#keptFile === null) return;
    this.#isComplete = true;
    for (const [name, script] of this.#scripts) {
      if (this.#kept.has(name)) continue;
      await nextTurn();
      this.#kept.set(name, script.createCachedData());
    }
    writeKept(this.#keptFile, this.#kept);
  }
}

/** Before the data: a checksum of all that follows it, and the length of the list of parts. */
const prefixBytes = 8;

/**
 * Empty when there is none that can be trusted: V8 runs what it is given, damaged or not, so that it
 * must be whole, and of nobody but this user.
 */
function readKept(file: string): Map<string, Buffer> {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(file, 'r');
    if (fstatSync(descriptor).uid !== process.getuid?.()) return new Map();
    const all = readFileSync(descriptor);
    if (crc32(all.subarray(4)) !== all.readUInt32LE(0)) return new Map();
    let at = prefixBytes + all.readUInt32LE(4);
    const list = all.toString('utf8', prefixBytes, at);
    const kept = new Map<string, Buffer>();
    for (const [name, bytes] of JSON.parse(list) as [string, number][]) {
      kept.set(name, all.subarray(at, at + bytes));
      at += bytes;
    }
    return kept;
  } catch {
    return new Map();
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** In one move, so that a start beside this one reads the old or the new. */
function writeKept(file: string, kept: ReadonlyMap<string, Buffer>): void {
  const list = Buffer.from(JSON.stringify([...kept].map(([name, { length }]) => [name, length])));
  const all = Buffer.concat([Buffer.alloc(prefixBytes), list, ...kept.values()]);
  all.writeUInt32LE(list.length, 4);
  all.writeUInt32LE(crc32(all.subarray(4)), 0);
  const fresh = `${file}.${process.pid}`;
  try {
    // Exclusively, because the folder may be one that others write to: no link of theirs is followed.
    writeFileSync(fresh, all, { mode: 0o600, flag: 'wx' });
    renameSync(fresh, file);
  } catch {
    // A full or read-only disk costs the next start nothing but time.
    rmSync(fresh, { force: true });
  }
}
