/** Brings a gauntlet to rest after its traffic: everything is written, settled and sealed. */
import { setTimeout as wait } from 'node:timers/promises';
import type { RequestCharge } from '../gate/charges.ts';
import type { Entry } from '../gate/journal.ts';
import { endLeases, lacksCharges, lostRows, readCalls } from '../outage/books.ts';
import type { Aftermath } from './invariants/invariant.ts';
import type { Chats } from './load/chats.ts';
import type { Loads } from './load/every-load.ts';
import type { Objects } from './load/objects.ts';
import type { Place } from './scene/place.ts';
import { runCommand } from './scene/run-command.ts';
import type { Scene } from './scene/scene.ts';
import { until } from './until.ts';

/** Long enough for a takeover of spools and for retries; a failed invariant tells what is missing. */
const settleMs = 120_000;

/** Jobs whose effects the invariants read. */
const lastJobs = ['expire-keys', 'charge-lost-slices', 'send-alerts', 'seal-audit-log'];

/** Observations that are possible only before or while everything comes to rest. */
export type Rest = Pick<Aftermath, 'calls' | 'unreadObjects' | 'isSynced' | 'metrics'>;

/** Resolves once no gateway runs any more, and nothing is left to write. */
export async function bringToRest(scene: Scene, loads: Loads, killBoundMs: number): Promise<Rest> {
  const { gateways, controls, witnessDatabase } = scene;
  const { chats, objects, syncs, keyLives } = loads;
  await until(async () => (await Promise.all(gateways.map(hasWritten))).every(Boolean), settleMs);
  await until(
    async () => (await lostRows(witnessDatabase.db, chats, killBoundMs)).length === 0,
    settleMs,
  );
  const unreadObjects = await readObjects(objects);
  const isSynced = await until(() => syncs.isApplied(), settleMs);
  const metrics = await Promise.all([...gateways, ...controls].map(metricsOf));
  const calls = await settle(scene, chats);
  await scene.daemon.stop();
  await wait(Math.max(0, ...keyLives.expiring.map(({ atMs }) => atMs - Date.now())));
  for (const job of lastJobs) {
    await runCommand([scene.program, 'jobs', 'run', job], scene.variables);
  }
  return { calls, unreadObjects, isSynced, metrics };
}

/** Stops the gateways, and charges what they had reserved. */
async function settle(scene: Scene, chats: Chats): Promise<RequestCharge[]> {
  const { gateways, witnessDatabase } = scene;
  const { db } = witnessDatabase;
  const stopAll = () => Promise.all(gateways.map((place) => place.stop()));
  await stopAll();
  await endLeases(witnessDatabase);
  const entries = scene.provider.entries<Entry>();
  const calls = (await readCalls(db, entries, chats)).map(asBehaved);
  const isLacking = () => lacksCharges(db, chats, calls, chats.limited);
  if (!(await isLacking())) return calls;
  // The next processes settle what was left on their disks.
  await Promise.all(gateways.map((place) => place.start()));
  await until(async () => !(await isLacking()), settleMs);
  await stopAll();
  await endLeases(witnessDatabase);
  return calls;
}

/** Lines about stored responses that their owner cannot read. */
async function readObjects(objects: Objects): Promise<string[]> {
  const lost: string[] = [];
  for (const id of objects.stored) {
    const { isUsual, status, detail } = await objects.read(id);
    if (!isUsual) lost.push(`response ${id}: ${status} ${detail}`);
  }
  return lost;
}

/** A call counts as what the provider did, which a fault may have changed. */
function asBehaved(call: RequestCharge): RequestCharge {
  const { entry, plan } = call;
  return entry === null ? call : { ...call, plan: { ...plan, kind: entry.kind } };
}

async function hasWritten(place: Place): Promise<boolean> {
  return /^gatewright_request_log_waiting 0$/m.test(await metricsOf(place));
}

async function metricsOf({ parts }: Place): Promise<string> {
  return (await fetch(`${parts.metricsUrl}/metrics`)).text();
}
