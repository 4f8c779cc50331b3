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
  /** Closed when it is over, as the kernel does for a process that ends. */
  readonly opened: FileHandle[];
  readonly died: PromiseWithResolvers<'dead'>;
}

const lives = new AsyncLocalStorage<Life>();

/**
 * Resolves when the run may take its next step, which a dead one never may. `torn` is what a death in
 * the middle of that step leaves behind.
 */
async function step(torn?: () => Promise<unknown>): Promise<void> {
  const life = lives.getStore();
  if (life === undefined) return;
  life.steps += 1;
  // Others may be counted while this one is looked at.
  const at = life.steps;
  await life.look?.(torn !== undefined);
  if (at < life.diesAt) return;
  if (at === life.diesAt) {
    await torn?.();
    life.died.resolve('dead');
  }
  await new Promise(() => undefined);
}

/** What a run comes to that dies as it takes this step, the first being 1. */
export async function endAt<T>(diesAt: number, run: () => Promise<T>): Promise<T | 'dead'> {
  const life: Life = { diesAt, steps: 0, opened: [], died: Promise.withResolvers() };
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
    ...{ diesAt: Number.POSITIVE_INFINITY, steps: 0, opened: [], died: Promise.withResolvers() },
    look: async (canTear) => {
      const at = life.steps;
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
    (async (...words: Parameters<F>) => {
      await step();
      return await operation(...words);
    }) as F;
  Object.assign(files, {
    ...{ mkdir: stepwise(mkdir as Step), link: stepwise(link), rename: stepwise(rename) },
    ...{ unlink: stepwise(unlink), chmod: stepwise(chmod) },
    open: async (...words: Parameters<typeof open>) => {
      const flags = words[1];
      if (typeof flags === 'number' && (flags & constants.O_CREAT) !== 0) await step();
      const handle = await open(...words);
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
    writeFile: async (text: string) => {
      await step(() => write(text.slice(0, text.length / 2)));
      await write(text);
    },
    sync: async () => {
      await step();
      await sync();
    },
  });
}

/** A client whose requests are steps, and so are their answers. */
export function stepping<T extends { request(request: never): Promise<unknown> }>(client: T): T {
  const send = client.request.bind(client);
  const request: T['request'] = async (given) => {
    await step();
    const answer = await send(given);
    await step();
    return answer;
  };
  return Object.assign(client, { request });
}
