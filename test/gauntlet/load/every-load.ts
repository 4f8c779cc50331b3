/** Prepares every kind of traffic. */
import type { Scene } from '../scene/scene.ts';
import { Administration } from './administration.ts';
import { type Chats, prepareChats } from './chats.ts';
import { ConsoleReads } from './console-reads.ts';
import { Jobs } from './jobs.ts';
import { KeyLives } from './key-lives.ts';
import type { Load, LoadOptions } from './load.ts';
import { type Objects, prepareObjects } from './objects.ts';
import { prepareSyncs, type Syncs } from './syncs.ts';
import { prepareTools, type Tools } from './tools.ts';

/** Kinds of traffic whose records the invariants read. */
export interface Loads extends AsyncDisposable {
  readonly every: readonly Load[];
  readonly chats: Chats;
  readonly tools: Tools;
  readonly objects: Objects;
  readonly administration: Administration;
  readonly keyLives: KeyLives;
  readonly syncs: Syncs;
}

export async function prepareLoads(scene: Scene, options: LoadOptions): Promise<Loads> {
  const chats = await prepareChats(scene, options);
  const recorded = {
    chats,
    tools: await prepareTools(scene, options),
    objects: await prepareObjects(scene, options),
    administration: new Administration(scene, options.random),
    keyLives: new KeyLives(scene, options.random),
    syncs: await prepareSyncs(scene),
  };
  return {
    ...recorded,
    every: [...Object.values(recorded), new Jobs(scene), new ConsoleReads(scene, options)],
    [Symbol.asyncDispose]: () => chats[Symbol.asyncDispose](),
  };
}
