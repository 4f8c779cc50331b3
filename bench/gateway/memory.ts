/** Measures gateway memory: open streams, keys and configs, and growth over many requests. */
import { setTimeout as delay } from 'node:timers/promises';
import { median, type Row } from '../harness.ts';
import { residentMiB } from '../product.ts';
import { type Arena, chatBody, gatewayNames, streamBody } from './arena.ts';
import { type Contestant, stop } from './contestants.ts';
import { Connection, Load, requestBytes } from './load-client.ts';

const streams = 500;
const streamEvents = 16;
const apartMs = 250;
const openedPerMs = 0.5;
const sampleMs = 100;
const warmUp = 2_000;
const connections = 64;
const enduranceMs = 40_000;
const enduranceChunk = 2_000;

/** Uses a new process of each gateway, warmed up with some requests. */
export async function streamMemoryRows(arena: Arena): Promise<Row[]> {
  const kib = new Map<string, number>();
  for (const name of gatewayNames) {
    const one = await arena.startAnother(name);
    try {
      const small = arena.request(name, chatBody());
      kib.set(
        name,
        await perStreamKib(one, small, arena.request(name, streamBody(streamEvents, apartMs))),
      );
    } finally {
      await stop(one);
    }
  }
  const ours = kib.get('ours')!;
  const ratio = ours / kib.get('peer')!;
  return [
    { metric: `memory per open stream of ${streams}, over P`, ratio, must: 0.5, aim: 0.33 },
    { metric: 'memory per open stream, over L', ratio: ours / kib.get('bare')!, aim: null },
    { metric: 'memory per open stream, KiB', ratio: ours, aim: null },
  ];
}

async function perStreamKib(one: Contestant, small: Buffer, stream: Buffer): Promise<number> {
  const load = await Load.open(one.url, connections);
  await load.send(warmUp, () => small);
  load.close();
  const before = residentMiB(one.pid);
  const open: { connection: Connection; ended: Promise<unknown> }[] = [];
  for (let at = 0; at < streams; at += 1) {
    const connection = await Connection.open(one.url);
    open.push({ connection, ended: connection.send(stream) });
    if (at % (5 * openedPerMs * 10) === 0) await delay(10 * 5);
  }
  let most = 0;
  const sampling = setInterval(() => {
    most = Math.max(most, residentMiB(one.pid));
  }, sampleMs);
  await Promise.all(open.map(({ ended }) => ended));
  clearInterval(sampling);
  for (const { connection } of open) connection.close();
  return ((most - before) * 1024) / streams;
}

/** Measures whether completed requests leave memory behind in a process that is fully warmed up. */
export async function enduranceRows(arena: Arena, scale: number): Promise<Row[]> {
  const { url, pid } = arena.running.ours;
  const bytes = arena.request('ours', chatBody());
  const load = await Load.open(url, connections);
  const samples: number[] = [];
  const untilMs = performance.now() + enduranceMs * scale;
  let sent = 0;
  while (performance.now() < untilMs) {
    await load.send(enduranceChunk, () => bytes);
    sent += enduranceChunk;
    samples.push(residentMiB(pid));
  }
  load.close();
  const quarter = Math.ceil(samples.length / 4);
  const ratio = median(samples.slice(-quarter)) / median(samples.slice(quarter, 2 * quarter));
  return [
    {
      metric: `resident after ${sent} requests, over a third of them`,
      ratio,
      must: 1.1,
      aim: 1.03,
    },
    { metric: 'resident after these requests, MiB', ratio: samples.at(-1)!, aim: null },
  ];
}

/** Measures the memory that keys and configs add to a process after as many requests with one key. */
export async function keysRows(arena: Arena): Promise<Row[]> {
  const { manyKeys, plainKey } = arena.tenant;
  const bytesOf = (key: string) => requestBytes({ authorization: `Bearer ${key}` }, chatBody());
  const one = await arena.startAnother('ours');
  try {
    const load = await Load.open(one.url, connections);
    const same = bytesOf(plainKey);
    await load.send(manyKeys.length, () => same);
    const before = residentMiB(one.pid);
    await load.send(manyKeys.length, (at) => bytesOf(manyKeys[at - 1]!));
    const after = residentMiB(one.pid);
    load.close();
    const metric = `MiB added by ${manyKeys.length} keys and their configs`;
    return [
      { metric, ratio: after - before, must: 100, aim: 100 },
      { metric: 'resident with these keys, MiB', ratio: after, aim: null },
    ];
  } finally {
    await stop(one);
  }
}
