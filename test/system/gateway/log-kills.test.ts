/** Tests that a killed gateway loses no log row of a request that was answered before its last group of writes. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type GatewayProcess,
  newMasterKeys,
  startGatewayProcess,
} from '../../gate/gateway-processes.ts';
import { seed } from '../../support/run/test-effort.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';

let inference: Inference;
let key: string;
let spoolDirectory: string;

beforeAll(async () => {
  inference = await startInference({ masterKeys: newMasterKeys() });
  inference.server.clock.set(Date.now());
  ({ key } = await inference.addKey());
  spoolDirectory = mkdtempSync(join(tmpdir(), 'gatewright-spool-'));
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  rmSync(spoolDirectory, { recursive: true });
});

/** A request whose answer arrived whole. */
interface AnsweredRequest {
  readonly trace: string;
  readonly atMs: number;
}

const callers = 8;
/** Documented in docs/reference/inference.md, Log. */
const boundMs = 10;

function start(): Promise<GatewayProcess> {
  const { server, upstream } = inference;
  return startGatewayProcess({ settings: server.settings, trusted: upstream.host, spoolDirectory });
}

/** Sends requests until the gateway is gone. */
async function call(
  gateway: GatewayProcess,
  name: string,
  onAnswer: (one: AnsweredRequest) => void,
) {
  for (let at = 0; ; at += 1) {
    const trace = `${name}-${at}`;
    try {
      const answer = await inference.chat(key, {
        url: gateway.inferenceUrl,
        headers: { 'x-gateway-trace-id': trace },
      });
      if (answer.status === 200) onAnswer({ trace, atMs: performance.now() });
    } catch {
      return;
    }
  }
}

/** Syncs a file beside the spool until the signal; resolves with the longest time in milliseconds. */
async function longestSyncMs(over: AbortSignal): Promise<number> {
  await using file = await open(`${spoolDirectory}.sync`, 'w');
  let longestMs = 0;
  while (!over.aborted) {
    const beganMs = performance.now();
    await file.write('x'.repeat(4096));
    await file.datasync();
    longestMs = Math.max(longestMs, performance.now() - beganMs);
  }
  rmSync(`${spoolDirectory}.sync`);
  return longestMs;
}

async function loggedTraces(): Promise<string[]> {
  const { db } = inference.server.database;
  const rows = await db.selectFrom('request_logs').select('trace_id').execute();
  return rows.map((row) => row.trace_id);
}

async function countedRequests(): Promise<number> {
  const { db } = inference.server.database;
  const totals = await db.selectFrom('request_totals').select('requests').execute();
  return totals.reduce((sum, { requests }) => sum + Number(requests), 0);
}

it.each([0, 1, 2, 3])(
  'has a row for each request answered before a kill, round %i',
  async (round) => {
    const gateway = await start();
    const answered: AnsweredRequest[] = [];
    const dying = Promise.withResolvers<void>();
    // A different moment of the second between two flushes each time.
    const killAfter = 150 + ((seed + round * 97) % 200);
    let killedMs = Number.POSITIVE_INFINITY;
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    const onAnswer = (one: AnsweredRequest): void => {
      answered.push(one);
      if (answered.length !== killAfter) return;
      killedMs = performance.now();
      void gateway.kill().then(dying.resolve, dying.reject);
    };
    const calling = Array.from({ length: callers }, (_, caller) =>
      call(gateway, `round${round}-caller${caller}`, onAnswer),
    );
    const over = new AbortController();
    const syncing = longestSyncMs(over.signal);
    await Promise.all([dying.promise, ...calling]);
    over.abort();
    delays.disable();
    // Other tests keep processor and disk busy: a write waits for a turn, and behind the sync of its file.
    const busyMs = delays.max / 1e6 + (await syncing);
    await using _next = await start();
    await eventually(() => expect(readdirSync(spoolDirectory)).toHaveLength(1));
    const logged = await loggedTraces();
    expect(new Set(logged).size).toBe(logged.length);
    expect(await countedRequests()).toBe(logged.length);
    const missing = answered.filter(({ trace }) => !logged.includes(trace));
    console.log(
      `round ${round}: ${answered.length} answered, ${missing.length} without a row, busy ${busyMs.toFixed(0)} ms`,
    );
    expect(missing.filter(({ atMs }) => atMs < killedMs - boundMs - busyMs)).toEqual([]);
    expect(logged.length).toBeLessThanOrEqual(inference.upstream.reached.length);
  },
);
