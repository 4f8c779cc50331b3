/** Measures the latency that a gateway adds to the upstream at 100 requests per second. */
import { setTimeout as delay } from 'node:timers/promises';
import { median, type Row } from '../harness.ts';
import { type Arena, allNames, chatBody, streamBody, type TargetName } from './arena.ts';
import { Connection, type ResponseTimes } from './load-client.ts';

const samples = 1_500;
const streamSamples = 250;
/** Time in which each target gets one request, so that each receives 100 per second. */
const roundMs = 10;
const streamRoundMs = 66;

export async function latencyRows(arena: Arena, scale: number): Promise<Row[]> {
  const whole = await addedLatency(arena, chatBody(), {
    samples: Math.ceil(samples * scale),
    roundMs,
    timeOf: ({ wholeMs }) => wholeMs,
  });
  const first = await addedLatency(arena, streamBody(5, 4), {
    samples: Math.ceil(streamSamples * scale),
    roundMs: streamRoundMs,
    timeOf: ({ firstMs }) => firstMs,
  });
  const over = (times: ReadonlyMap<TargetName, number>, other: TargetName) =>
    times.get('ours')! / times.get(other)!;
  return [
    { metric: 'added median at 100/s, over P', ratio: over(whole, 'peer'), must: 0.5, aim: 0.4 },
    { metric: 'added median at 100/s, over L', ratio: over(whole, 'bare'), aim: null },
    { metric: 'added median at 100/s, ms', ratio: whole.get('ours')!, aim: null },
    {
      metric: 'first byte of a stream, added, over P',
      ratio: over(first, 'peer'),
      must: 1 / 15,
      aim: 1 / 30,
    },
    {
      metric: 'first byte of a stream, added, over L',
      ratio: over(first, 'bare'),
      aim: null,
    },
    { metric: 'first byte of a stream, added, ms', ratio: first.get('ours')!, aim: null },
  ];
}

interface LatencyRun {
  readonly samples: number;
  readonly roundMs: number;
  readonly timeOf: (answered: ResponseTimes) => number;
}

/**
 * Shuffles the order of each round. A target that always followed the heaviest one would always find the
 * processor caches filled by it.
 */
function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** Median latency in ms above that of the upstream. Each round sends one request per target, evenly spaced. */
async function addedLatency(
  arena: Arena,
  body: object,
  { samples: count, roundMs: lengthMs, timeOf }: LatencyRun,
): Promise<ReadonlyMap<TargetName, number>> {
  const times = new Map(allNames.map((name) => [name, [] as number[]]));
  const requested = await Promise.all(
    allNames.map(async (name) => ({
      name,
      bytes: arena.request(name, body),
      previous: Promise.resolve(),
      connection: await Connection.open(arena.running[name].url),
    })),
  );
  const began = performance.now();
  let turn = 0;
  for (let round = 0; round < count; round += 1) {
    for (const one of shuffled(requested)) {
      const waitMs = began + (turn * lengthMs) / requested.length - performance.now();
      turn += 1;
      if (waitMs > 0) await delay(waitMs);
      await one.previous;
      one.previous = one.connection.send(one.bytes).then((answered) => {
        times.get(one.name)!.push(timeOf(answered));
      });
    }
  }
  await Promise.all(requested.map(({ previous: under }) => under));
  for (const { connection } of requested) connection.close();
  const direct = median(times.get('direct')!);
  return new Map([...times].map(([name, list]) => [name, median(list) - direct]));
}
