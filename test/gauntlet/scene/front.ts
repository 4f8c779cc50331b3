/** A load balancer before the control planes: forwards connections to those that report to be ready. */
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Place } from './place.ts';
import { startRelay } from './relay.ts';

const probeMs = 250;
const probeTimeoutMs = 1_000;

export interface Front extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
}

export async function startFront(places: readonly Place[]): Promise<Front> {
  const ready = new Set<Place>(places);
  let turn = 0;
  const relay = await startRelay({ host: '127.0.0.1', port: 0 }, () => {
    turn += 1;
    const able = places.filter((place) => ready.has(place));
    const chosen = able[turn % Math.max(1, able.length)];
    return chosen && Number(new URL(chosen.parts.url).port);
  });
  const over = new AbortController();
  const probing = places.map(async (place) => {
    while (!over.signal.aborted) {
      if (await isReady(place)) ready.add(place);
      else ready.delete(place);
      await wait(probeMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  });
  return {
    url: `http://127.0.0.1:${(relay.server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await Promise.all(probing);
      await relay[Symbol.asyncDispose]();
    },
  };
}

async function isReady(place: Place): Promise<boolean> {
  if (place.process === null) return false;
  const signal = AbortSignal.timeout(probeTimeoutMs);
  return fetch(`${place.parts.metricsUrl}/readyz`, { signal })
    .then(async (response) => {
      await response.arrayBuffer();
      return response.ok;
    })
    .catch(() => false);
}
