/**
 * Uses a spool until it kills itself at a given call of the file system: before it, halfway through it, or after it.
 * Prints one line for each thing that its caller may rely on afterwards.
 */
import fs from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { SpoolStream } from '../../../src/spool/spool-stream.ts';

export type DeathPhase = 'before' | 'halfway' | 'after';

export interface DyingTask {
  readonly directory: string;
  readonly work: 'fill' | 'deliver';
  /** Number of the call of the file system at which the process dies; no call has the number 0. */
  readonly call: number;
  readonly phase: DeathPhase;
  readonly bytesMax: number;
  readonly segmentBytes: number;
}

const task = JSON.parse(process.argv[2]!) as DyingTask;
/** Names of the calls so far. */
const calls: string[] = [];

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

function say(line: string): void {
  fs.writeSync(1, `${line}\n`);
}

type Work = (this: unknown, ...args: unknown[]) => unknown;

/** Makes one function of the file system a point of death. */
function makeDeadly(owner: object, name: string): void {
  const functions = owner as Record<string, Work>;
  const original = functions[name]!;
  functions[name] = async function deadly(this: unknown, ...args: unknown[]): Promise<unknown> {
    calls.push(name);
    const isHere = calls.length === task.call;
    if (isHere && task.phase === 'before') die();
    if (isHere && task.phase === 'halfway' && name === 'write') {
      const [bytes, from, length, at] = args as [Buffer, number, number, number];
      await original.call(this, bytes, from, length >> 1, at);
      die();
    }
    const result = await original.apply(this, args);
    if (isHere) die();
    return result;
  };
}

const probe = await promises.open('/dev/null');
const handles = Object.getPrototypeOf(probe) as FileHandle;
await probe.close();
for (const name of ['write', 'datasync', 'sync', 'truncate', 'close']) makeDeadly(handles, name);
for (const name of ['open', 'rename', 'rm', 'rmdir', 'mkdir', 'readdir', 'readFile']) {
  makeDeadly(promises, name);
}
syncBuiltinESMExports();

const { createTestSpool } = await import('./test-spool.ts');
const { spool, logs, usage } = createTestSpool(task);
await spool.open();
if (task.work === 'fill') await fill();
else await deliver();
await spool[Symbol.asyncDispose]();
say(`calls ${calls.join(' ')}`);

async function fill(): Promise<void> {
  for (let group = 0; group < 12; group += 1) {
    const numbers = [0, 1, 2].map((index) => group * 3 + index);
    await Promise.all([
      ...numbers.map((number) => append(usage, 'usage', number)),
      ...numbers.map((number) => append(logs, 'logs', number)),
    ]);
  }
}

async function append(stream: SpoolStream, name: string, number: number): Promise<void> {
  say(`began ${name} ${number}`);
  await stream.append(Buffer.from(`${name} ${number} ${'x'.repeat(200)}`));
  say(`took ${name} ${number}`);
}

async function deliver(): Promise<void> {
  for (const stream of [usage, logs]) {
    for (;;) {
      const loaded = await stream.load();
      if (loaded === null) break;
      for (const record of loaded.records) say(`got ${record.toString().replace(/ x+$/, '')}`);
      stream.release(loaded.place, loaded.records.length);
    }
  }
}
