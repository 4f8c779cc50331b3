/** Searches inputs that break a parser's guarantees, guided by coverage: inputs that reach new code are kept and changed. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { CoverageProbe } from './coverage.ts';
import { amplified, mutate, shorten } from './mutate.ts';
import { faultOf, type ParserTarget } from './parser-target.ts';

const corpora = resolve(import.meta.dirname, '../corpora');
const working = resolve(import.meta.dirname, '../../../.cache/fuzz');
const batchSize = 64;
const amplifiedBytes = 128 * 1024;
const crashesMax = 10;
/** The kept corpus is read by `npm test`, so that it stays small. */
const seedsMax = 15;
const seedBytesMax = 1_024;

export interface ParserResult {
  readonly parser: string;
  readonly runs: number;
  /** Inputs that reached new code. */
  readonly corpus: number;
  /** Blocks of code reached. */
  readonly blocks: number;
  readonly crashes: readonly { readonly fault: string; readonly file: string }[];
}

export interface ParserOptions {
  readonly seed: number;
  readonly minutes: number;
  /** Writes the shortest inputs that reached new code to the kept corpus. */
  readonly keeps: boolean;
}

/** The inputs of a folder in order of their names; empty when there is none. */
function inputsIn(folder: string): { readonly name: string; readonly bytes: Buffer }[] {
  try {
    return readdirSync(folder)
      .toSorted()
      .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
  } catch {
    return [];
  }
}

/** The kept inputs of a parser, regressions included. */
export function corpusInputs(parser: string) {
  return inputsIn(join(corpora, parser));
}

class ParserRun {
  readonly #target: ParserTarget;
  readonly #options: ParserOptions;
  readonly #random: SeededRandom;
  readonly #probe: CoverageProbe;
  readonly #dictionary: readonly Buffer[];
  readonly #corpus: Buffer[] = [];
  readonly #crashes: { fault: string; file: string }[] = [];
  readonly #knownFaults = new Set<string>();
  #runs = 0;

  constructor(target: ParserTarget, options: ParserOptions) {
    this.#target = target;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#probe = new CoverageProbe(target.sources);
    this.#dictionary = target.dictionary.map((text) => Buffer.from(text));
  }

  async run(): Promise<ParserResult> {
    const { name } = this.#target;
    const endsAt = performance.now() + this.#options.minutes * 60_000;
    const first = [...corpusInputs(name), ...inputsIn(join(working, name))];
    for (const { bytes } of first) await this.#tryAlone(bytes);
    if (this.#corpus.length === 0) this.#corpus.push(Buffer.from(' '));
    while (performance.now() < endsAt && this.#crashes.length < crashesMax) await this.#tryBatch();
    this.#probe[Symbol.dispose]();
    this.#save();
    return {
      parser: name,
      runs: this.#runs,
      corpus: this.#corpus.length,
      blocks: this.#probe.blocks,
      crashes: this.#crashes,
    };
  }

  /** Coverage is taken once for the batch, and for each input only when the batch reached new code. */
  async #tryBatch(): Promise<void> {
    const sources = { dictionary: this.#dictionary, corpus: this.#corpus };
    const inputs = Array.from({ length: batchSize }, () =>
      mutate(this.#random.pick(this.#corpus), this.#random, sources),
    );
    for (const input of inputs) await this.#try(input);
    if (this.#probe.takeNew().length === 0) return;
    for (const input of inputs) await this.#tryAlone(input);
  }

  async #tryAlone(input: Buffer): Promise<void> {
    this.#probe.takeNew();
    await this.#try(input);
    const blocks = this.#probe.takeNew();
    if (blocks.length === 0) return;
    this.#probe.remember(blocks);
    this.#corpus.push(input);
    await this.#try(amplified(input, this.#random, amplifiedBytes));
  }

  async #try(input: Buffer): Promise<void> {
    this.#runs += 1;
    const fault = await faultOf(this.#target, input);
    if (fault === null) return;
    const kind = kindOf(fault);
    if (this.#knownFaults.has(kind)) return;
    const failsAlike = async (candidate: Buffer) => {
      const other = await faultOf(this.#target, candidate);
      return other !== null && kindOf(other) === kind;
    };
    // A single slow run may be due to the collection of garbage.
    if (kind === 'Slow' && !(await failsAlike(input))) return;
    this.#knownFaults.add(kind);
    const short = kind === 'Slow' ? input : await shorten(input, failsAlike);
    const file = this.#write(corpora, 'crash-', short);
    this.#crashes.push({ fault: (await faultOf(this.#target, short)) ?? fault, file });
  }

  #save(): void {
    for (const input of this.#corpus) this.#write(working, '', input);
    if (!this.#options.keeps) return;
    const short = this.#corpus
      .filter(({ length }) => length <= seedBytesMax)
      .toSorted((one, other) => one.length - other.length);
    const step = Math.max(1, short.length / seedsMax);
    for (let at = 0; at < short.length; at += step) {
      this.#write(corpora, 'seed-', short[Math.floor(at)]!);
    }
  }

  #write(parent: string, prefix: string, input: Buffer): string {
    const folder = join(parent, this.#target.name);
    mkdirSync(folder, { recursive: true });
    const hash = createHash('sha256').update(input).digest('hex').slice(0, 12);
    const file = join(folder, `${prefix}${hash}`);
    writeFileSync(file, input);
    return file;
  }
}

/** Faults with one kind count once: their texts differ in values only. */
function kindOf(fault: string): string {
  return fault
    .split(':')
    .slice(0, 2)
    .join(':')
    .replaceAll(/\d+/g, '0')
    .replace(/^(Slow).*/, '$1');
}

export function fuzzParser(target: ParserTarget, options: ParserOptions): Promise<ParserResult> {
  return new ParserRun(target, options).run();
}
