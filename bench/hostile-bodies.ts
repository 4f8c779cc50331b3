/** Measures how long the most expensive body of each route blocks the event loop of a server. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { type Dispatcher, request } from 'undici';
import type { CredentialKind } from '../src/http/routes/route.ts';
import { everyRoute, pathOf } from '../test/support/interface/every-route.ts';
import {
  costlyDocuments,
  type HostileBody,
  hostileBodies,
} from '../test/support/network/hostile-bodies.ts';
import type { Member, Row } from './harness.ts';
import type { HostileServerReady, Stall } from './hostile-server.ts';

/**
 * A stall longer than `noticedMs` is measured up to this many times and the shortest counts, because
 * other work on the machine only adds time.
 */
const repeats = 4;
const noticedMs = 12;
/** Largest acceptable stall for any request. */
const stallMaxMs = 50;

interface Target {
  readonly method: string;
  readonly path: string;
  /** The first credential kind that the route registry accepts for the route. */
  readonly accepts: CredentialKind;
}

interface BodyStall {
  readonly name: string;
  readonly status: number;
  readonly stallMs: number;
  /** The stall divided by the time of JSON.parse for the same text in this process. */
  readonly overParse: number;
}

export const member: Member = {
  name: 'hostile bodies: longest stall of the event loop',
  run: async (): Promise<Row[]> => {
    const child = fork(resolve(import.meta.dirname, 'hostile-server.ts'), { stdio: 'inherit' });
    try {
      const [server] = (await once(child, 'message')) as [HostileServerReady];
      const rows: Row[] = [];
      for (const { target, bodies } of allTargets()) {
        const measured: BodyStall[] = [];
        for (const body of bodies) measured.push(await measure(child, server, target, body));
        rows.push(rowOf(target, measured));
      }
      return rows;
    } finally {
      child.disconnect();
      await once(child, 'exit');
    }
  },
};

/** Yields each route with a body, on its first mount, and documents that pass the schema but cost most. */
function* allTargets(): Generator<{ target: Target; bodies: HostileBody[] }> {
  const seen = new Set<unknown>();
  for (const mounted of everyRoute()) {
    if (mounted.route.body === undefined || seen.has(mounted.route)) continue;
    seen.add(mounted.route);
    const accepts = mounted.accepts[0]!;
    const target = { method: mounted.route.method, path: pathOf(mounted), accepts };
    yield { target, bodies: hostileBodies(mounted.route) };
  }
  for (const document of costlyDocuments()) {
    const target = { method: 'POST', path: document.path, accepts: 'access-token' } as const;
    yield { target, bodies: [document] };
  }
}

/** Reports the most expensive body of a target. */
function rowOf({ method, path }: Target, measured: readonly BodyStall[]): Row {
  const worst = measured.reduce((one, other) => (other.stallMs > one.stallMs ? other : one));
  const route = `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, '…')}`;
  const detail = `${worst.name} (${worst.status}), ${worst.overParse.toFixed(0)} × JSON.parse`;
  return { metric: `${route}, ms: ${detail}`, ratio: worst.stallMs, aim: stallMaxMs };
}

async function measure(
  child: ChildProcess,
  server: HostileServerReady,
  target: Target,
  { name, text }: HostileBody,
): Promise<BodyStall> {
  const bytes = Buffer.from(text);
  let stallMs = Number.POSITIVE_INFINITY;
  let status = 0;
  for (let at = 0; at < repeats && stallMs > noticedMs; at += 1) {
    await stallOf(child);
    status = await post(server, target, bytes);
    stallMs = Math.min(stallMs, await stallOf(child));
  }
  return { name, status, stallMs, overParse: stallMs / parseMs(text) };
}

async function stallOf(child: ChildProcess): Promise<Stall> {
  child.send('stall');
  const [stall] = (await once(child, 'message')) as [Stall];
  return stall;
}

async function post(server: HostileServerReady, target: Target, body: Buffer): Promise<number> {
  const basic = Buffer.from(`${server.clientId}:${server.clientSecret}`).toString('base64');
  const isForm = target.accepts === 'client';
  const headers = {
    'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
    authorization: isForm ? `Basic ${basic}` : `Bearer ${server.token}`,
  };
  const method = target.method as Dispatcher.HttpMethod;
  const response = await request(server.url + target.path, { method, headers, body });
  await response.body.dump();
  if (response.statusCode === 401 || response.statusCode >= 500) {
    throw new Error(`${target.method} ${target.path} returned ${response.statusCode}`);
  }
  return response.statusCode;
}

function parseMs(text: string): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (let at = 0; at < repeats; at += 1) {
    const started = performance.now();
    try {
      JSON.parse(text);
    } catch {
      // Hostile bodies that are not JSON count too: the time spent until the error is compared.
    }
    shortest = Math.min(shortest, performance.now() - started);
  }
  return Math.max(shortest, 0.01);
}
