/** Knows how a test ends a run at every moment between two steps: those on files and those over the network. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { constants } from 'node:fs';
import files, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** One run, which dies as it is about to take a step; a dead run takes none any more, like a killed process. */
interface Life {
  readonly diesAt: number;
  steps: number;
  /** Looks at what the run has come to before each step; told whether that step can be cut short. */
  readonly look?: (canTear: boolean) => Promise<void>;
  /** Over once no step is under way. */
  turn: Promise<void>;
  /** Closed when it is over, as the kernel does for a process that ends. */
  readonly opened: FileHandle[];
  readonly died: PromiseWithResolvers<'dead'>;
}

const lives = new AsyncLocalStorage<Life>();

/**
 * Carries out a step of the run, which a dead one never does. `torn` is what a death in the middle of it
 * leaves behind. A run that is looked at takes one step at a time: what changes under the look would
 * be an error of the look.
 */
async function step<T>(operation: () => Promise<T>, torn?: () => Promise<unknown>): Promise<T> {
  const life = lives.getStore();
  if (life === undefined) return await operation();
  if (life.look === undefined) {
    await live(life, torn);
    return await operation();
  }
  const before = life.turn;
  const own = Promise.withResolvers<void>();
  life.turn = own.promise;
  await before;
  try {
    await life.look(torn !== undefined);
    await live(life, torn);
    return await operation();
  } finally {
    own.resolve();
  }
}

/** Resolves where the run lives on. */
async function live(life: Life, torn?: () => Promise<unknown>): Promise<void> {
  life.steps += 1;
  if (life.steps < life.diesAt) return;
  if (life.steps === life.diesAt) {
    await torn?.();
    life.died.resolve('dead');
  }
  await new Promise(() => undefined);
}

function newLife(diesAt: number): Life {
  const died = Promise.withResolvers<'dead'>();
  return { diesAt, steps: 0, turn: Promise.resolve(), opened: [], died };
}

/** What a run comes to that dies as it takes this step, the first being 1, if it takes so many. */
export async function endAt<T>(diesAt: number, run: () => Promise<T>): Promise<T | 'dead'> {
  const life = newLife(diesAt);
  try {
    return await Promise.race([lives.run(life, run), life.died.promise]);
  } finally {
    for (const handle of life.opened) await handle.close();
  }
}

/**
 * Lets a run come to its end, and yields the steps at which its death leaves what it leaves at no step
 * before, as `look` tells it. A step that can be cut short is always one of them.
 */
export async function stepsOfChange<T>(
  run: () => Promise<T>,
  look: () => Promise<string>,
): Promise<{ result: T; steps: number; ofChange: number[] }> {
  const seen = new Set<string>();
  const ofChange: number[] = [];
  const life: Life = {
    ...newLife(Number.POSITIVE_INFINITY),
    look: async (canTear) => {
      const at = life.steps + 1;
      const state = await look();
      if (canTear || !seen.has(state)) ofChange.push(at);
      seen.add(state);
    },
  };
  const result = await lives.run(life, run);
  return { result, steps: life.steps, ofChange };
}

type Step = (...words: never[]) => Promise<unknown>;

/** Makes every change of files, in whatever module, a step; yields how things were. */
export function stepThroughFiles(): Disposable {
  const { open, mkdir, link, rename, unlink, chmod } = files;
  const real = { open, mkdir, link, rename, unlink, chmod };
  const stepwise = <F extends Step>(operation: F): F =>
    ((...words: Parameters<F>) => step(() => operation(...words))) as F;
  Object.assign(files, {
    ...{ mkdir: stepwise(mkdir as Step), link: stepwise(link), rename: stepwise(rename) },
    ...{ unlink: stepwise(unlink), chmod: stepwise(chmod) },
    open: async (...words: Parameters<typeof open>) => {
      const flags = words[1];
      const creates = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0;
      const handle = await (creates ? step(() => open(...words)) : open(...words));
      lives.getStore()?.opened.push(handle);
      return stepThrough(handle);
    },
  });
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]: () => {
      Object.assign(files, real);
      syncBuiltinESMExports();
    },
  };
}

/** A file whose writes and flushes are steps; a write that is cut short leaves half of its text. */
function stepThrough(handle: FileHandle): FileHandle {
  const write = handle.writeFile.bind(handle);
  const sync = handle.sync.bind(handle);
  return Object.assign(handle, {
    writeFile: (text: string) =>
      step(
        () => write(text),
        () => write(text.slice(0, text.length / 2)),
      ),
    sync: () => step(sync),
  });
}

/** A client whose requests are steps, and so are their answers; a lease is renewed when it is time, which is no step. */
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

/** Never resolves for a run that is dead. */
async function unlessDead(): Promise<void> {
  const life = lives.getStore();
  if (life !== undefined && life.steps >= life.diesAt) await new Promise(() => undefined);
}
