/** Measures how long changes of MCP servers take until clients see them at two gateways, without a new connection. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Member, Row } from './harness.ts';
import {
  type ChangeScene,
  type ObservedCall,
  openChangeScene,
  type SceneEras,
} from './mcp/change-scene.ts';

/** Calls that are relayed, and calls through the bridge in both directions. */
const ways: readonly (readonly [name: string, eras: SceneEras])[] = [
  ['relayed', { client: 'legacy', server: 'both' }],
  ['legacy client at a modern server', { client: 'legacy', server: 'modern' }],
  ['modern client at a legacy server', { client: 'modern', server: 'legacy' }],
];
const trials = 20;
const streamsOfGateway = 100;
/** Interval of calls while a change is awaited. */
const askMs = 10;
/** Gateways read changes once a second, so a change falls on any moment between two readings. */
const spreadMs = 1_000;

/** A change, and whether a call shows it. `at` numbers the trials. */
interface Change {
  readonly name: string;
  readonly make: (scene: ChangeScene, at: number) => Promise<void>;
  readonly isSeen: (call: ObservedCall, at: number) => boolean;
  /** Undoes it before the next trial. */
  readonly undo?: (scene: ChangeScene) => Promise<void>;
}

const changes: readonly Change[] = [
  {
    name: 'allow-list',
    make: (scene) => scene.setTool('echo', false),
    isSeen: ({ text }) => text.includes('-32602'),
    undo: (scene) => scene.setTool('echo', true),
  },
  {
    name: 'user access',
    make: (scene) => scene.put(`/mcp-servers/${scene.serverId}/user-access`, denied),
    isSeen: ({ status }) => status === 403,
    undo: (scene) => scene.put(`/mcp-servers/${scene.serverId}/user-access`, allowed),
  },
  {
    name: 'guardrail',
    make: (scene) => scene.setGuardrail(true),
    isSeen: ({ text }) => text.includes('-32446'),
    undo: (scene) => scene.setGuardrail(false),
  },
  {
    name: 'address',
    make: (scene, at) => scene.setIntegration({ url: `${scene.upstreamUrl}/${at}` }),
    isSeen: ({ text }, at) => text.includes(`address /mcp/${at} `),
  },
  {
    name: 'secret',
    make: (scene, at) =>
      scene.setIntegration({ configurations: { custom_headers: { 'X-Secret': `s${at}` } } }),
    isSeen: ({ text }, at) => text.includes(`secret s${at}.`),
  },
  {
    name: 'key',
    make: (scene) => scene.deleteKey(),
    isSeen: ({ status }) => status === 401,
    undo: (scene) => scene.renewKey(),
  },
];
const denied = { default_user_access: 'deny' };
const allowed = { default_user_access: 'allow' };

export const member: Member = {
  name: 'changes of MCP servers until clients see them',
  run: async (scale): Promise<Row[]> => {
    const count = Math.max(3, Math.round(trials * scale));
    const rows: Row[] = [];
    for (const [way, eras] of ways) {
      await using scene = await openChangeScene(eras);
      for (const change of changes) {
        const times: number[] = [];
        for (let at = 1; at <= count; at += 1) times.push(...(await timesOf(scene, change, at)));
        rows.push(slowestRow(`${change.name}, ${way}`, times));
      }
      const streams = Math.max(5, Math.round(streamsOfGateway * scale));
      if (eras.server === 'both') rows.push(await noticeRow(scene, count, streams));
    }
    return rows;
  },
};

/** Milliseconds from the answer to the change until each gateway shows it. */
async function timesOf(scene: ChangeScene, change: Change, at: number): Promise<number[]> {
  await delay(Math.random() * spreadMs);
  await change.make(scene, at);
  const times = await seenTimes(scene, (call) => change.isSeen(call, at));
  if (change.undo !== undefined) {
    await change.undo(scene);
    await seenTimes(scene, (call) => !change.isSeen(call, at));
  }
  return times;
}

function seenTimes(scene: ChangeScene, isSeen: (call: ObservedCall) => boolean): Promise<number[]> {
  const madeMs = performance.now();
  return Promise.all(
    scene.gateways.map(async (gateway) => {
      while (!isSeen(await scene.call(gateway))) await delay(askMs);
      return performance.now() - madeMs;
    }),
  );
}

/** Time until every open stream of every gateway has been told of a changed list. */
async function noticeRow(scene: ChangeScene, count: number, streams: number): Promise<Row> {
  const all = await scene.openStreams(streams);
  const times: number[] = [];
  for (let at = 1; at <= count; at += 1) {
    await delay(Math.random() * spreadMs);
    await scene.setTool('other', at % 2 === 0);
    const madeMs = performance.now();
    await all.noticed(at);
    times.push(performance.now() - madeMs);
  }
  all.close();
  return slowestRow(`list_changed on ${streams * scene.gateways.length} streams`, times);
}

function slowestRow(name: string, times: readonly number[]): Row {
  return {
    metric: `${name}, slowest of ${times.length}, s`,
    ratio: Math.max(...times) / 1_000,
    aim: 1,
  };
}
