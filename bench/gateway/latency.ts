/** Knows how much later an answer comes through a gateway than from the upstream itself, at a hundred requests a second. */
import { setTimeout as delay } from 'node:timers/promises';
import { median, type Row } from '../harness.ts';
import { type Arena, allNames, chatBody, type Name, streamBody } from './arena.ts';
import { type Answered, Connection } from './load-client.ts';

const samples = 1_500;
const streamSamples = 250;
/** Of one to each, so that each gets a hundred a second. */
const roundMs = 10;
const streamRoundMs = 66;

export async function latencyRows(arena: Arena, scale: number): Promise<Row[]> {
  const whole = await added(arena, chatBody(), {
    ...{ samples: Math.ceil(samples * scale), roundMs, timeOf: ({ wholeMs }) => wholeMs },
  });
  const first = await added(arena, streamBody(5, 4), {
    ...{ samples: Math.ceil(streamSamples * scale), roundMs: streamRoundMs },
    timeOf: ({ firstMs }) => firstMs,
  });
  const over = (times: ReadonlyMap<Name, number>, other: Name) =>
    times.get('ours')! / times.get(other)!;
  return [
    { metric: 'added median at 100/s, over P', ratio: over(whole, 'peer'), must: 0.5, aim: 0.4 },
    { metric: 'added median at 100/s, over L', ratio: over(whole, 'bare'), aim: null },
    { metric: 'added median at 100/s, ms', ratio: whole.get('ours')!, aim: null },
    {
      ...{ metric: 'first byte of a stream, added, over P', ratio: over(first, 'peer') },
      ...{ must: 1 / 15, aim: 1 / 30 },
    },
    {
      ...{ metric: 'first byte of a stream, added, over L', ratio: over(first, 'bare'), aim: null },
    },
    { metric: 'first byte of a stream, added, ms', ratio: first.get('ours')!, aim: null },
  ];
}

interface Measured {
  readonly samples: number;
  readonly roundMs: number;
  readonly timeOf: (answered: Answered) => number;
}

/**
 * In another order each time: who always comes behind the heaviest always finds the caches of the processor
 * full of that.
 */
function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** Medians in ms beyond that of the upstream, everybody asked once a round, at equal distances. */
async function added(
  arena: Arena,
  body: object,
  { samples: count, roundMs: lengthMs, timeOf }: Measured,
): Promise<ReadonlyMap<Name, number>> {
  const times = new Map(allNames.map((name) => [name, [] as number[]]));
  const asked = await Promise.all(
    allNames.map(async (name) => ({
      ...{ name, bytes: arena.request(name, body), under: Promise.resolve() },
      connection: await Connection.open(arena.running[name].url),
    })),
  );
  const began = performance.now();
  let turn = 0;
  for (let round = 0; round < count; round += 1) {
    for (const one of shuffled(asked)) {
      const waitMs = began + (turn * lengthMs) / asked.length - performance.now();
      turn += 1;
      if (waitMs > 0) await delay(waitMs);
      await one.under;
      one.under = one.connection.ask(one.bytes).then((answered) => {
        times.get(one.name)!.push(timeOf(answered));
      });
    }
  }
  await Promise.all(asked.map(({ under }) => under));
  for (const { connection } of asked) connection.close();
  const direct = median(times.get('direct')!);
  return new Map([...times].map(([name, list]) => [name, median(list) - direct]));
}
