/** Kills a run at every point between two steps: on files, over the network, in the database. */
import { AsyncLocalStorage } from 'node:async_hooks';
import plainFiles, { constants } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';
import type { Kysely } from 'kysely';

/**
 * One run, which dies when it is about to take a step; a dead run takes no more steps, like a
 * killed process.
 */
interface Life {
  readonly diesAt: number;
  steps: number;
  /** Returns whether the state of the run is new, before each asynchronous step. */
  readonly look?: () => Promise<boolean>;
  /** Called before each step, including synchronous ones. */
  readonly mark?: (step: number) => void;
  /** Resolves when no step is in progress. */
  turn: Promise<void>;
  /** File descriptors, closed at the end as the kernel does for a process. */
  readonly opened: Set<number>;
  readonly died: PromiseWithResolvers<'dead'>;
}

const lives = new AsyncLocalStorage<Life>();

/**
 * Executes a step of the run, unless it is dead. An observed run takes one asynchronous step at a
 * time, because concurrent changes would falsify the observation.
 */
async function step<T>(operation: () => Promise<T>): Promise<T> {
  const life = lives.getStore();
  if (life === undefined) return await operation();
  if (life.look === undefined) {
    await live(life);
    return await operation();
  }
  const before = life.turn;
  const own = Promise.withResolvers<void>();
  life.turn = own.promise;
  await before;
  try {
    // Other steps may have been taken during the observation.
    if (await life.look()) life.mark?.(life.steps + 1);
    await live(life);
    return await operation();
  } finally {
    own.resolve();
  }
}

/** Resolves while the run is alive. */
async function live(life: Life): Promise<void> {
  life.steps += 1;
  if (life.steps < life.diesAt) return;
  if (life.steps === life.diesAt) life.died.resolve('dead');
  await new Promise(() => undefined);
}

/**
 * A synchronous step: a dead run throws, because it cannot be suspended. `torn` simulates a death
 * in the middle of the step.
 */
function stepAtOnce<T>(operation: () => T, torn?: () => void): T {
  const life = lives.getStore();
  if (life === undefined) return operation();
  life.steps += 1;
  life.mark?.(life.steps);
  if (life.steps < life.diesAt) return operation();
  if (life.steps === life.diesAt) {
    torn?.();
    life.died.resolve('dead');
  }
  throw new Error('this run is dead');
}

function newLife(diesAt: number): Life {
  const died = Promise.withResolvers<'dead'>();
  return { diesAt, steps: 0, turn: Promise.resolve(), opened: new Set(), died };
}

/** The result of a run that dies at this step, counted from 1, if it takes that many. */
export async function endAt<T>(diesAt: number, run: () => Promise<T>): Promise<T | 'dead'> {
  const life = newLife(diesAt);
  try {
    return await Promise.race([lives.run(life, run), life.died.promise]);
  } finally {
    for (const file of life.opened) plainFiles.closeSync(file);
  }
}

/**
 * Runs to the end and returns the steps at which a death leaves a state that no earlier step left,
 * according to `look`, together with all synchronous steps.
 */
export async function stepsOfChange<T>(
  run: () => Promise<T>,
  look: (step: number) => Promise<string>,
): Promise<{ result: T; steps: number; ofChange: number[] }> {
  const seen = new Set<string>();
  const ofChange: number[] = [];
  const life: Life = {
    ...newLife(Number.POSITIVE_INFINITY),
    look: async () => {
      const state = await look(life.steps + 1);
      const isNew = !seen.has(state);
      seen.add(state);
      return isNew;
    },
    mark: (step) => ofChange.push(step),
  };
  const result = await lives.run(life, run);
  return { result, steps: life.steps, ofChange };
}

type Step = (...words: never[]) => Promise<unknown>;
type StepAtOnce = (...words: never[]) => unknown;

/** Turns every change of files, in any module, into a step; disposal restores the functions. */
export function stepThroughFiles(): Disposable {
  const { mkdir, link, unlink, chmod } = files;
  const { linkSync, renameSync, unlinkSync } = plainFiles;
  const awaited = { mkdir, link, unlink, chmod };
  const atOnce = { linkSync, renameSync, unlinkSync, ...openedFiles };
  const stepwise = <F extends Step>(operation: F): F =>
    ((...words: Parameters<F>) => step(() => operation(...words))) as F;
  const stepwiseAtOnce = <F extends StepAtOnce>(operation: F): F =>
    ((...words: Parameters<F>) => stepAtOnce(() => operation(...words))) as F;
  Object.assign(files, {
    mkdir: stepwise(mkdir as Step),
    link: stepwise(link),
    unlink: stepwise(unlink),
    chmod: stepwise(chmod),
  });
  Object.assign(plainFiles, {
    linkSync: stepwiseAtOnce(linkSync),
    renameSync: stepwiseAtOnce(renameSync),
    unlinkSync: stepwiseAtOnce(unlinkSync),
    ...steppingOpened,
  });
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]: () => {
      Object.assign(files, awaited);
      Object.assign(plainFiles, atOnce);
      syncBuiltinESMExports();
    },
  };
}

const { openSync, writeSync, closeSync, fsync } = plainFiles;
const openedFiles = { openSync, writeSync, closeSync, fsync };

/**
 * Files that a run creates: writes and flushes are steps; an interrupted write leaves half of its
 * bytes.
 */
const steppingOpened = {
  openSync: (...words: Parameters<typeof openSync>): number => {
    const life = lives.getStore();
    const flags = words[1];
    const creates = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0;
    const file = creates ? stepAtOnce(() => openSync(...words)) : openSync(...words);
    life?.opened.add(file);
    return file;
  },
  writeSync: (...words: Parameters<typeof writeSync>): number => {
    const [file] = words;
    const bytes: unknown = words[1];
    const isOwn = lives.getStore()?.opened.has(file) === true;
    if (!isOwn || !(bytes instanceof Uint8Array)) return writeSync(...words);
    const half = bytes.subarray(0, bytes.length / 2);
    return stepAtOnce(
      () => writeSync(...words),
      () => writeSync(file, half),
    );
  },
  closeSync: (file: number): void => {
    lives.getStore()?.opened.delete(file);
    closeSync(file);
  },
  fsync: (file: number, reported: (error: NodeJS.ErrnoException | null) => void): void => {
    const flushed = step(() => promisify(fsync)(file));
    flushed.then(() => reported(null), reported);
  },
};

/** A database whose statements and responses are steps. */
export function steppingDatabase<T>(db: Kysely<T>): Kysely<T> {
  return db.withPlugin({
    transformQuery: ({ node }) => node,
    // The statement was executed; a run that dies here never learns of it.
    transformResult: ({ result }) => step(async () => result),
  });
}

/**
 * A client whose requests and responses are steps. Lease renewals, which depend on time, are no
 * steps.
 */
export function stepping<T extends { request(request: never): Promise<unknown> }>(client: T): T {
  const send = client.request.bind(client);
  let lease: string | undefined;
  const request: T['request'] = async (given) => {
    const { method, path } = given as { method?: string; path?: string };
    if (method === 'PUT' && path !== undefined && path === lease) {
      await unlessDead();
      return await send(given);
    }
    const answer = await step(() => send(given));
    if (path?.includes('/leases/')) lease = method === 'PUT' ? path : undefined;
    await step(async () => undefined);
    return answer;
  };
  return Object.assign(client, { request });
}

/** Never resolves for a dead run. */
async function unlessDead(): Promise<void> {
  const life = lives.getStore();
  if (life !== undefined && life.steps >= life.diesAt) await new Promise(() => undefined);
}
