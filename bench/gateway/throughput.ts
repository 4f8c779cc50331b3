/** Measures the cost of a request under full load: CPU time and requests per second. */
import { median, quartilesOf, type Row } from '../harness.ts';
import { cpuMs } from '../product.ts';
import type { Arena } from './arena.ts';
import { chatBody, gatewayNames, largeBody } from './arena.ts';
import { type Contestant, stop } from './contestants.ts';
import { Load, requestBytes } from './load-client.ts';

/** A target that receives load in each round. */
export interface LoadTarget {
  readonly name: string;
  readonly contestant: Contestant;
  readonly bytes: Buffer;
  /** Requests of a round. */
  readonly count: number;
}

/** One value per round, per request. */
interface LoadResult {
  readonly cpuUs: readonly number[];
  readonly wallUs: readonly number[];
}

export async function drive(
  targets: readonly LoadTarget[],
  rounds: number,
  connections: number,
): Promise<ReadonlyMap<string, LoadResult>> {
  const loads = new Map<string, Load>();
  const results = new Map<string, { cpuUs: number[]; wallUs: number[] }>();
  for (const { name, contestant } of targets) {
    loads.set(name, await Load.open(contestant.url, connections));
    results.set(name, { cpuUs: [], wallUs: [] });
  }
  for (let round = -1; round < rounds; round += 1) {
    for (const { name, contestant, bytes, count } of targets) {
      const before = cpuMs(contestant.pid);
      const wallMs = await loads.get(name)!.send(count, () => bytes);
      if (round < 0) continue;
      results.get(name)!.cpuUs.push(((cpuMs(contestant.pid) - before) * 1_000) / count);
      results.get(name)!.wallUs.push((wallMs * 1_000) / count);
    }
  }
  for (const load of loads.values()) load.close();
  return results;
}

/** Enough requests for the JIT compiler to finish: hot functions are recompiled for some seconds. */
const warmUp = 40_000;
const rounds = 9;
const connections = 64;
const counts = { bare: 4_000, peer: 1_000, ours: 4_000 } as const;
const largeCounts = { bare: 600, peer: 120, ours: 600 } as const;
const largeConnections = 16;

export async function throughputRows(arena: Arena, scale: number): Promise<Row[]> {
  const bytesOf = (name: (typeof gatewayNames)[number]) => arena.request(name, chatBody());
  for (const name of gatewayNames) {
    const load = await Load.open(arena.running[name].url, connections);
    await load.send(Math.ceil(warmUp * scale), () => bytesOf(name));
    load.close();
  }
  const small = await drive(
    gatewayNames.map((name) => ({
      name,
      contestant: arena.running[name],
      bytes: bytesOf(name),
      count: counts[name],
    })),
    Math.ceil(rounds * scale),
    connections,
  );
  const large = await drive(
    gatewayNames.map((name) => ({
      name,
      contestant: arena.running[name],
      count: largeCounts[name],
      bytes: arena.request(name, largeBody()),
    })),
    Math.ceil(rounds * scale),
    largeConnections,
  );
  const [ours, peer, bare] = ['ours', 'peer', 'bare'].map((name) => small.get(name)!);
  const [largeOurs, largePeer, largeBare] = ['ours', 'peer', 'bare'].map(
    (name) => large.get(name)!,
  );
  return [
    ratioRow('CPU of a JSON request, over P', ours!.cpuUs, peer!.cpuUs, [1 / 5, 1 / 7]),
    ratioRow('CPU of a JSON request, over L', ours!.cpuUs, bare!.cpuUs, [2.5, 1.8]),
    ratioRow('requests per second of P, over ours', ours!.wallUs, peer!.wallUs, [1 / 5, 1 / 7]),
    ratioRow('requests per second of L, over ours', ours!.wallUs, bare!.wallUs, [null, 1 / 0.55]),
    { metric: 'requests per second of one process', ratio: 1e6 / median(ours!.wallUs), aim: null },
    { metric: 'CPU of a JSON request, µs', ratio: median(ours!.cpuUs), aim: null },
    ratioRow('CPU of a body of 100 kB, over P', largeOurs!.cpuUs, largePeer!.cpuUs, [1 / 6, 1 / 9]),
    ratioRow('CPU of a body of 100 kB, over L', largeOurs!.cpuUs, largeBare!.cpuUs, [null, null]),
  ];
}

/** Measures parts of the request path, each against the bare proxy. */
export async function partRows(arena: Arena, scale: number): Promise<Row[]> {
  const { ours, bare } = arena.running;
  const keyed = (key: string) => requestBytes({ authorization: `Bearer ${key}` }, chatBody());
  const { limitedKey, plainKey } = arena.tenant;
  const result = await drive(
    [
      { name: 'bare', contestant: bare, bytes: arena.request('bare', chatBody()), count: 4_000 },
      { name: 'plain', contestant: ours, bytes: keyed(plainKey), count: 4_000 },
      { name: 'limited', contestant: ours, bytes: keyed(limitedKey), count: 4_000 },
    ],
    Math.ceil(rounds * scale),
    connections,
  );
  const over = (name: string) => [result.get(name)!.cpuUs, result.get('bare')!.cpuUs] as const;
  return [
    ratioRow('CPU with key, config, provider and metrics, over L', ...over('plain'), [null, null]),
    ratioRow('CPU with budgets and a rate limit as well, over L', ...over('limited'), [null, null]),
  ];
}

/** Compares builds, all newly started and in turn, because differences between two runs exceed those of a change. */
export async function buildRows(arena: Arena, scale: number): Promise<Row[]> {
  const bare = { name: 'bare', contestant: arena.running.bare };
  const started = await arena.startBuilds();
  try {
    const rows: Row[] = [];
    for (const [kind, body, counts] of [
      ['a JSON request', chatBody(), [warmUp, 4_000, connections]],
      ['a body of 100 kB', largeBody(), [0, 600, largeConnections]],
    ] as const) {
      const [first, count, at] = counts;
      const bytesOf = (name: string) => arena.request(name === 'bare' ? 'bare' : 'ours', body);
      const all = [bare, ...started].map((one) => ({ ...one, bytes: bytesOf(one.name), count }));
      if (first > 0)
        await drive(
          all.map((one) => ({ ...one, count: first })),
          0,
          at,
        );
      const driven = await drive(all, Math.ceil(rounds * scale), at);
      for (const { name } of started) {
        const [top, bottom] = [driven.get(name)!.cpuUs, driven.get('bare')!.cpuUs];
        rows.push(ratioRow(`CPU of ${kind}, ${name}, over L`, top, bottom, [null, null]));
      }
    }
    return rows;
  } finally {
    for (const { contestant } of started) await stop(contestant);
  }
}

/** Computes the ratio of each round; reports the median and quartiles. */
export function ratioRow(
  metric: string,
  top: readonly number[],
  bottom: readonly number[],
  [must, aim]: readonly [must: number | null, aim: number | null],
): Row {
  const [lower, ratio, upper] = quartilesOf(top.map((value, at) => value / bottom[at]!));
  return { metric, ratio, must, aim, quartiles: [lower, upper] };
}
