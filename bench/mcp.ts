/** Measures the MCP gateway against a bare proxy: calls of tools, latency, long lists and idle streams. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { stop } from './gateway/contestants.ts';
import { Connection } from './gateway/load-client.ts';
import { drive, ratioRow } from './gateway/throughput.ts';
import { type Member, median, type Row } from './harness.ts';
import { type McpArena, openMcpArena } from './mcp/mcp-arena.ts';
import { pythonPeers } from './mcp/python-peers.ts';
import { residentMiB } from './product.ts';

type Stage = (arena: McpArena, scale: number) => Promise<Row[]>;

const call = { name: 'tool-7', arguments: { id: 'record 12 of the archive '.repeat(6).trim() } };
const connections = 16;
const rounds = 9;
const callsOfRound = 2_000;
const warmUpCalls = 20_000;

async function callRows(arena: McpArena, scale: number): Promise<Row[]> {
  const { bare, ours } = arena;
  const plain = arena.request('plain', 'tools/call', call);
  const guarded = arena.request('guarded', 'tools/call', call);
  const targets = [
    { name: 'bare', contestant: bare, bytes: plain, count: callsOfRound },
    { name: 'plain', contestant: ours, bytes: plain, count: callsOfRound },
    { name: 'guarded', contestant: ours, bytes: guarded, count: callsOfRound },
  ];
  const warming = targets.map((one) => ({ ...one, count: Math.ceil(warmUpCalls * scale) }));
  await drive(warming, 0, connections);
  const driven = await drive(targets, Math.ceil(rounds * scale), connections);
  const cpu = (name: string) => driven.get(name)!.cpuUs;
  return [
    ratioRow('CPU of tools/call with key, list, limit, log, over L', cpu('plain'), cpu('bare'), [
      null,
      2.0,
    ]),
    ratioRow('CPU of tools/call with two guardrails too, over L', cpu('guarded'), cpu('bare'), [
      null,
      2.6,
    ]),
    { metric: 'CPU of tools/call, µs', ratio: median(cpu('plain')), aim: null },
  ];
}

const sequentialCalls = 2_000;

async function latencyRows(arena: McpArena, scale: number): Promise<Row[]> {
  const bytes = arena.request('plain', 'tools/call', call);
  const medians: number[] = [];
  for (const { url } of [arena.bare, arena.ours]) {
    const connection = await Connection.open(url);
    const times: number[] = [];
    for (let at = 0; at < sequentialCalls * scale; at += 1) {
      times.push((await connection.send(bytes)).wholeMs);
    }
    connection.close();
    medians.push(median(times));
  }
  const [bare = 0, ours = 0] = medians;
  return [{ metric: 'added median of tools/call, ms', ratio: ours - bare, aim: 0.5 }];
}

const peerRounds = 3;

/** Skips a peer that cannot be installed, and says why. */
async function peerRows(arena: McpArena, scale: number): Promise<Row[]> {
  const { stub, ours } = arena;
  const rows: Row[] = [];
  const own = arena.request('plain', 'tools/call', call);
  await drive([{ name: 'ours', contestant: ours, bytes: own, count: warmUpCalls * scale }], 0, 16);
  for (const peer of pythonPeers) {
    const reason = await peer.install();
    if (reason !== null) {
      process.stdout.write(`  ${peer.name} is skipped: ${reason}\n`);
      continue;
    }
    await using started = await peer.start(`${stub.url}/few/mcp`);
    const bytes = started.callBytes(call.arguments);
    const { contestant } = started;
    const targets = [
      { name: 'ours', contestant: ours, bytes: own, count: callsOfRound },
      { name: peer.name, contestant, bytes, count: peer.count },
    ];
    const driven = await drive(targets, Math.ceil(peerRounds * scale), connections);
    const [theirs, mine] = [driven.get(peer.name)!.cpuUs, driven.get('ours')!.cpuUs];
    const ratio = ratioRow(`CPU of tools/call, ${peer.name} over ours`, theirs, mine, [null, null]);
    rows.push({ ...ratio, least: peer.least });
  }
  return rows;
}

const lists = 40;

async function listRows(arena: McpArena, scale: number): Promise<Row[]> {
  const bytes = arena.request('plain', 'tools/list', {});
  const connection = await Connection.open(arena.ours.url);
  const times: number[] = [];
  for (let at = 0; at < Math.max(3, lists * scale); at += 1) {
    times.push((await connection.send(bytes)).wholeMs);
  }
  connection.close();
  return [{ metric: 'tools/list of 5,000 tools, ms', ratio: median(times), aim: 50 }];
}

const streamsMost = 10_000;
/** Open files of the gateway: connections to caller and server of each stream, and all others. */
const filesOfStream = 2;
const filesApart = 500;
/** Memory of the first connections, which is not that of a stream. */
const streamsBefore = 100;

function openFilesMax(pid: number): number {
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 1024);
}

async function streamRows(arena: McpArena, scale: number): Promise<Row[]> {
  const most = Math.floor((openFilesMax(arena.ours.pid) - filesApart) / filesOfStream);
  const count = Math.min(Math.ceil(streamsMost * scale), most - streamsBefore);
  const bare = await kibibytesOfStream(arena.bare, arena.key, count);
  const ours = await kibibytesOfStream(arena.ours, arena.key, count);
  const of = `of each of ${count} idle sessions with an open stream, KiB`;
  return [
    { metric: `memory ${of}`, ratio: ours, aim: 20 },
    { metric: `memory of L ${of}`, ratio: bare, aim: null },
  ];
}

async function kibibytesOfStream(
  { url, pid }: McpArena['ours'],
  key: string,
  count: number,
): Promise<number> {
  const agent = new Agent({ connections: count + streamsBefore, pipelining: 1 });
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const open = async (): Promise<void> => {
    const options = { dispatcher: agent, headers, bodyTimeout: 0 };
    const { statusCode, body } = await request(`${url}/plain/mcp`, options);
    if (statusCode !== 200) throw new Error(`GET: ${statusCode} ${await body.text()}`);
    body.on('error', () => {});
    body.resume();
  };
  const openAll = async (some: number): Promise<void> => {
    for (let at = 0; at < some; at += 50) {
      await Promise.all(Array.from({ length: Math.min(50, some - at) }, open));
    }
  };
  await openAll(streamsBefore);
  const before = residentMiB(pid);
  await openAll(count);
  const kibibytes = ((residentMiB(pid) - before) * 1024) / count;
  await agent.destroy();
  return kibibytes;
}

/** Compares builds in turn, because differences between two runs exceed those of a change. */
async function buildRows(arena: McpArena, scale: number): Promise<Row[]> {
  const started = await arena.startBuilds();
  try {
    const rows: Row[] = [];
    for (const slug of ['plain', 'guarded'] as const) {
      const bytes = arena.request(slug, 'tools/call', call);
      const bare = { name: 'bare', contestant: arena.bare };
      const all = [bare, ...started].map((one) => ({ ...one, bytes, count: callsOfRound }));
      const warming = all.map((one) => ({ ...one, count: Math.ceil(warmUpCalls * scale) }));
      await drive(warming, 0, connections);
      const driven = await drive(all, Math.ceil(rounds * scale), connections);
      for (const { name } of started) {
        const [top, bottom] = [driven.get(name)!.cpuUs, driven.get('bare')!.cpuUs];
        const metric = `CPU of a ${slug} tools/call, ${name}, over L`;
        rows.push(ratioRow(metric, top, bottom, [null, null]));
      }
    }
    return rows;
  } finally {
    for (const { contestant } of started) await stop(contestant, 'SIGTERM');
  }
}

const allStages: Readonly<Record<string, Stage>> = {
  calls: callRows,
  latency: latencyRows,
  lists: listRows,
  streams: streamRows,
  peers: peerRows,
  builds: buildRows,
};

/** All but the comparison of builds. */
const usualStages = ['calls', 'latency', 'lists', 'streams', 'peers'];

export const member: Member = {
  name: 'the MCP gateway against a bare proxy',
  run: async (scale, { stages, builds, nodeOptions }): Promise<Row[]> => {
    await using arena = await openMcpArena({ builds, nodeOptions });
    const rows: Row[] = [];
    for (const name of stages ?? usualStages) {
      const stage = allStages[name];
      if (stage === undefined) {
        throw new Error(`--stages= takes ${Object.keys(allStages).join(', ')}`);
      }
      rows.push(...(await stage(arena, scale)));
    }
    return rows;
  },
};
