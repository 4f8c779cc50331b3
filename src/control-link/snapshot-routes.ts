/** Serves sealed snapshots to gateways without a database. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { RawReply, type Route, route } from '../http/routes/route.ts';
import { monotonicMs } from '../monotonic.ts';
import type { OriginState, SnapshotOrigin } from '../snapshot/reading/snapshot-origin.ts';
import { linkPaths } from './link-paths.ts';
import { SharedObjects } from './shared-objects.ts';
import { joinObjects, ObjectsRequest, StateAnswer, StateRequest } from './snapshot-messages.ts';

/** How long an answer waits for a change: shorter than gateways wait for an answer. */
const waitMs = 5_000;
/** Interval of reading the state, once for all gateways that wait. */
const lookMs = 250;

/** Shares reads of the state among gateways that ask at the same time. */
class SharedState {
  readonly #origin: SnapshotOrigin;
  readonly #reading = new Map<string, Promise<OriginState>>();

  constructor(origin: SnapshotOrigin) {
    this.#origin = origin;
  }

  /** The state for gateways that hold `known`, as old as the interval at most. */
  read(known: Buffer | null): Promise<OriginState> {
    const key = known?.toString('base64') ?? '';
    const running = this.#reading.get(key);
    if (running !== undefined) return running;
    const reading = this.#origin.readState(known);
    this.#reading.set(key, reading);
    const forget = (): void => {
      this.#reading.delete(key);
    };
    reading.then(() => setTimeout(forget, lookMs).unref(), forget);
    return reading;
  }

  /** Waits for a change of what a gateway holds. */
  async waitFor(known: Buffer | null): Promise<OriginState> {
    const endMs = monotonicMs() + waitMs;
    for (;;) {
      const state = await this.read(known);
      const hasNews = state.sealedHead !== null || state.hasPending || !state.exists;
      if (hasNews || known === null || monotonicMs() >= endMs) return state;
      await delay(lookMs, undefined, { ref: false });
    }
  }
}

/** Bytes after which an answer ends. */
const answerBytesMax = 16 * 1024 * 1024;
/** Bytes of objects that are kept for other gateways. */
const sharedBytesMax = 64 * 1024 * 1024;

/** The objects up to the one with which the answer is large enough. */
function untilLarge(objects: readonly (Buffer | null)[]): readonly (Buffer | null)[] {
  let bytes = 0;
  const end = objects.findIndex((object) => {
    bytes += object?.length ?? 0;
    return bytes >= answerBytesMax;
  });
  return end === -1 ? objects : objects.slice(0, end + 1);
}

export function sealedSnapshotRoutes(origin: SnapshotOrigin): Route<null>[] {
  const shared = new SharedState(origin);
  const objects = new SharedObjects(origin, sharedBytesMax);
  const common = { method: 'POST', mounts: { root: ['none'] }, isRepeatable: true } as const;
  return [
    route({
      ...common,
      path: linkPaths.snapshotState,
      summary: 'Read or await the newest sealed snapshot',
      body: StateRequest,
      response: z.unknown(),
      handle: async ({ body }) => z.encode(StateAnswer, await shared.waitFor(body.known)),
    }),
    route({
      ...common,
      path: linkPaths.snapshotObjects,
      summary: 'Read objects of a sealed snapshot',
      body: ObjectsRequest,
      response: z.unknown(),
      handle: async ({ body: { addresses } }) => {
        const found = await objects.read(addresses);
        const headers = { 'content-type': 'application/octet-stream' };
        return new RawReply(200, joinObjects(untilLarge(found)), headers);
      },
    }),
  ];
}
