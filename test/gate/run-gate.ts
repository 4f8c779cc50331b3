/** Runs the gate for limits: three gateways and a crowd on one limit, with a window change and a kill. */
import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { chargeLostSlices } from '../../src/jobs/charge-lost-slices.ts';
import type { DatabaseSettings } from '../../src/settings.ts';
import { isUnavailable } from '../../src/store/connection/unavailable.ts';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { recallSlices } from '../support/rows/usage-rows.ts';
import { eventually } from '../support/server/eventually.ts';
import { jobContext } from '../support/server/job-context.ts';
import { logIsWritten } from '../support/server/request-log.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
import {
  chargedUnits,
  chargeFault,
  isFreeFailure,
  knownRequests,
  type RequestCharge,
  rowFaults,
} from './charges.ts';
import {
  boundUnits,
  type Counter,
  countersOf,
  type GateLimit,
  heldUnits,
  trueUnits,
} from './counters.ts';
import { type CallerObservation, Driver, isRefused } from './driver.ts';
import type { FormName } from './forms.ts';
import { addFormConfigs, addLimits, type GateTerms } from './gate-resources.ts';
import { type GatewayProcess, newMasterKeys, startGatewayProcess } from './gateway-processes.ts';
import { type Entry, type Journal, startJournal } from './journal.ts';
import { numbersOf, type Plan, planOf } from './plan.ts';
import { falseRefusals, outputTokensLeast } from './refusals.ts';

export interface GateOptions {
  readonly seed: number;
  readonly callers: number;
  readonly terms: GateTerms;
  /** Forms of the requests; chats by default. */
  readonly forms?: readonly FormName[];
  /** Maximum output that a request asks for. */
  readonly outputTokensMost: number;
  /** Whether the key's window turns over during the run. */
  readonly turns?: boolean;
  /** One gateway is killed after this many requests; none by default. */
  readonly killAfter?: number;
  /** Clock offset of one gateway. */
  readonly clockOffMs?: number;
  /** Further settings of the gateways. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Connection of each gateway to the database. */
  readonly databaseOf?: (gateway: number, real: DatabaseSettings) => Promise<DatabaseSettings>;
  /** Shared database; that of the tests by default. */
  readonly between?: (real: DatabaseSettings) => Promise<DatabaseSettings>;
  /** Whether slices of a dead gateway are charged by lease expiry, not earlier. */
  readonly waitsForLease?: boolean;
  /** Further events during the run. */
  readonly meanwhile?: (gate: RunningGate) => Promise<void>;
}

export interface RunningGate {
  readonly server: TestServer;
  readonly journal: Journal;
  readonly processes: readonly GatewayProcess[];
}

export interface GateReport {
  readonly entries: readonly Entry[];
  readonly requested: readonly CallerObservation[];
  readonly known: readonly RequestCharge[];
  /** Highest used share of any limit in its last window. */
  readonly usedShare: number;
  readonly falselyRefused: readonly CallerObservation[];
  /** Windows of the first limit with usage. */
  readonly windows: number;
}

const leaseMs = 30_000;
const gatewayCount = 3;
/** Gateways that receive the last units. */
const fewCallers = 2;
const watchMs = 100;
const turnsAfterMs = 1_000;

/** Sends requests until the limits are reached, and compares the database with the journal. */
export async function runGate(options: GateOptions): Promise<GateReport> {
  const { seed, callers, turns = false, killAfter, forms = ['chat'] } = options;
  await using stack = new AsyncDisposableStack();
  const random = numbersOf(seed);
  const journal = stack.use(await startJournal());
  const trusted = readTrustedHosts(journal.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const { between = async (real) => real } = options;
  const server = stack.use(
    await startTestServer({ between, settings: { trustedHosts, masterKeys: newMasterKeys() } }),
  );
  server.clock.set(Date.now());
  const { key, workspaceId, limits } = await addLimits(server, options.terms);
  const configs = await addFormConfigs(server, workspaceId, forms, journal.url);
  const beganMs = Date.now();
  const processes = await startProcesses(server, journal, options);
  for (const one of processes) stack.use(one);
  // Late enough that even a busy machine sends requests before.
  const turnsMs = turns ? 2 * Date.now() - beganMs + turnsAfterMs : null;
  if (turnsMs !== null) await turnWindowAt(server, turnsMs);
  const config = { provider: 'mock-upstream', custom_host: journal.url };
  const death: Death = { gate: null, atMs: Number.POSITIVE_INFINITY };
  const driver = stack.use(
    new Driver({
      gates: processes,
      random,
      forms,
      configs,
      untilMs: turnsMs ?? 0,
      outputTokensMost: options.outputTokensMost,
      alive: () => processes.map((_, at) => at).filter((at) => at !== death.gate),
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-gateway-config': JSON.stringify(config),
        'x-gateway-metadata': '{"team":"one"}',
      },
    }),
  );
  const dying = Promise.withResolvers<void>();
  if (killAfter === undefined) dying.resolve();
  journal.onEntry = () => {
    if (journal.entries.length !== killAfter) return;
    death.gate = Math.floor(random() * processes.length);
    death.atMs = Date.now();
    void processes[death.gate]!.kill().then(dying.resolve);
  };
  const round = { server, journal, processes, driver, limits, turnsMs, death };
  const over = new AbortController();
  const watching = watchCounters(round, over.signal);
  const meanwhile = options.meanwhile?.({ server, journal, processes });
  for (const some of [callers, Math.ceil(callers / 8), fewCallers]) await driver.drive(some);
  await Promise.all([dying.promise, meanwhile]);
  over.abort();
  await watching;
  await bringToRest(round, options);
  const known = await checkCharges(round);
  for (const limit of limits) await checkCounters(round, limit, known);
  await useTheRest(round);
  return reportOf(round, known);
}

/** `GATE_SEED` of a failed run draws the same requests again. */
export function newSeed(): number {
  const seed = Number(process.env.GATE_SEED ?? randomInt(2 ** 31));
  console.log(`GATE_SEED=${seed}`);
  return seed;
}

/** One summary line, for comparing runs. */
export function tell(report: GateReport): void {
  const { requested, entries, known, usedShare, falselyRefused, windows } = report;
  const answers = Object.groupBy(requested, ({ status, code }) => `${status} ${code ?? ''}`.trim());
  const counts = Object.entries(answers).map(([answer, some]) => `${some!.length} × ${answer}`);
  const share = `${(usedShare * 100).toFixed(2)} % used`;
  const rest = `${falselyRefused.length} falsely refused, ${windows} windows`;
  console.log(`${entries.length} reached the provider, ${share}, ${rest}; ${counts.join(', ')}`);
  const estimated = known.filter(({ charge }) => charge?.isEstimated);
  const kinds = Object.groupBy(
    estimated,
    ({ plan, entry }) => plan.kind + (entry ? '' : ' unseen'),
  );
  const most = Object.entries(kinds).map(([kind, some]) => `${some!.length} × ${kind}`);
  console.log(`estimated: ${most.join(', ')}`);
  for (const { plan, gate, sentMs, doneMs } of falselyRefused.slice(0, 10)) {
    console.log(
      `falsely refused: ${plan.id} ${plan.form} ${plan.kind} at ${gate}, ${sentMs} to ${doneMs}`,
    );
  }
}

interface Death {
  /** The killed gateway. */
  gate: number | null;
  atMs: number;
}

interface Round extends RunningGate {
  readonly driver: Driver;
  readonly limits: readonly GateLimit[];
  /** When the key's window turns over. */
  readonly turnsMs: number | null;
  readonly death: Death;
}

async function startProcesses(
  { settings }: TestServer,
  { host: trusted }: Journal,
  { clockOffMs, variables = {}, databaseOf = async (_, real) => real }: GateOptions,
): Promise<GatewayProcess[]> {
  const starting = Array.from({ length: gatewayCount }, async (_, at) => {
    const database = await databaseOf(at, settings.database!);
    return startGatewayProcess({
      settings: { ...settings, database },
      trusted,
      variables,
      ...(at === 1 && clockOffMs !== undefined && { clockOffMs }),
    });
  });
  return Promise.all(starting);
}

/** No process has read the budget yet. */
async function turnWindowAt({ database }: TestServer, atMs: number): Promise<void> {
  await database.db.updateTable('usage_budgets').set({ next_reset_at: atMs }).execute();
}

/** Checks continuously that used and reserved units never exceed the limit. */
async function watchCounters({ server, limits }: Round, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const limit of limits) {
      const counters = await countersOf(server.database.db, limit).catch(noneWhereAway);
      for (const { used, reserved } of counters) {
        expect(used + reserved).toBeLessThanOrEqual(limit.units);
      }
    }
    await wait(watchMs);
  }
}

/** An unreachable database yields no observation. */
function noneWhereAway(error: unknown): Counter[] {
  if (isUnavailable(error)) return [];
  throw error;
}

/** Checks that everything not lost was returned, lost slices were charged, and nothing stays reserved. */
async function bringToRest(
  { server, limits, death }: Round,
  { waitsForLease = false }: GateOptions,
): Promise<void> {
  const { db } = server.database;
  const dead = await eventually(async () => {
    await recallSlices(db);
    const slices = await db
      .selectFrom('usage_slices as slice')
      .innerJoin('usage_holders as holder', 'holder.holder', 'slice.holder')
      .select(['slice.holder', 'holder.lease_until'])
      .execute();
    // A lease that was renewed after the kill belongs to a live gateway.
    expect(slices.filter((row) => Number(row.lease_until) > death.atMs + leaseMs)).toEqual([]);
    const holders = new Map(slices.map(({ holder }) => [holder.toString('hex'), holder]));
    expect(holders.size).toBeLessThanOrEqual(death.gate === null ? 0 : 1);
    return [...holders.values()][0];
  });
  const held = await Promise.all(
    limits.map((limit) => (dead === undefined ? 0 : heldUnits(db, limit, dead))),
  );
  const chargeLost = () => chargeLostSlices().run(jobContext(server.database, Date.now()));
  if (dead !== undefined && !waitsForLease) {
    await db
      .updateTable('usage_slices')
      .set({ lease_until: null })
      .where('holder', '=', dead)
      .execute();
    await db
      .updateTable('usage_holders')
      .set({ lease_until: 0 })
      .where('holder', '=', dead)
      .where('lease_until', '<=', death.atMs + leaseMs)
      .execute();
    await chargeLost();
  }
  // A gateway that was busy a moment ago may reserve again before it becomes idle.
  await eventually(async () => {
    if (waitsForLease) await chargeLost();
    await recallSlices(db);
    for (const [at, limit] of limits.entries()) {
      const counters = await countersOf(db, limit);
      expect(counters.map(({ reserved }) => reserved)).toEqual(counters.map(() => 0));
      expect(counters.reduce((sum, { assumed }) => sum + assumed, 0)).toBe(held[at]);
    }
  });
}

/** Checks each request of a live gateway: charged the provider's reported usage, or at least that if none was reported. */
async function checkCharges(round: Round): Promise<RequestCharge[]> {
  const { server, journal, processes, driver, death } = round;
  await Promise.all(processes.filter((_, at) => at !== death.gate).map(logIsWritten));
  const isDead = (gate: number): boolean => gate === death.gate;
  const known = await knownRequests(server.database.db, journal.entries, driver.requested, isDead);
  const ofLiving = known.filter(({ requested }) => requested.gate !== death.gate);
  expect(await rowFaults(server.database.db, driver.requested, isDead)).toEqual([]);
  expect(ofLiving.map(chargeFault).filter((fault) => fault !== null)).toEqual([]);
  return known;
}

/** Checks that the ledger equals the log exactly, except the dead gateway's slices, and that the journal is within the limit. */
async function checkCounters(
  { server, turnsMs, death }: Round,
  limit: GateLimit,
  known: readonly RequestCharge[],
): Promise<void> {
  const { type, units, name } = limit;
  const counters = await countersOf(server.database.db, limit);
  const sum = { ofLiving: 0, ofDead: 0, beforeTurn: 0, afterTurn: 0, true: 0 };
  for (const request of known) {
    const { entry, requested } = request;
    const charged = chargedUnits(type, request);
    if (requested.gate === death.gate) sum.ofDead += charged;
    else if (!isFreeFailure(request)) sum.ofLiving += charged;
    if (entry === null) continue;
    const isTurned = name === 'key' && turnsMs !== null;
    if (!isTurned || entry.atMs < turnsMs) sum.beforeTurn += trueUnits(type, entry);
    else if (requested.sentMs >= turnsMs) sum.afterTurn += trueUnits(type, entry);
    sum.true += trueUnits(type, entry);
  }
  const reported = (field: 'used' | 'assumed') =>
    counters.reduce((total, counter) => total + counter[field], 0);
  for (const { used } of counters) expect(used).toBeLessThanOrEqual(units);
  expect([sum.beforeTurn, sum.afterTurn].every((one) => one <= units)).toBe(true);
  expect(reported('used')).toBeGreaterThanOrEqual(sum.true);
  const ofDead = reported('used') - reported('assumed') - sum.ofLiving;
  expect(ofDead).toBeGreaterThanOrEqual(0);
  expect(ofDead).toBeLessThanOrEqual(sum.ofDead);
}

/** Checks that a request for all remaining units is admitted and uses them, and the next one is refused. */
async function useTheRest({ server, driver, limits }: Round): Promise<void> {
  const statuses: number[] = [];
  await eventually(async () => {
    const output = await outputLeft(server, limits);
    if (output <= 0) return;
    // A try that failed after the provider had received it has used units.
    const { status } = await driver.ask(planOfAll(`rest-${statuses.length + 1}`, output));
    statuses.push(status);
    expect(status, `statuses ${statuses} with ${output} output tokens left`).toBe(200);
  });
  expect(isRefused(await driver.ask(planOfAll('more', outputTokensLeast)))).toBe(true);
}

/** Most output of a request that fits into all limits. */
async function outputLeft({ database }: TestServer, limits: readonly GateLimit[]): Promise<number> {
  const left = await Promise.all(
    limits.map(async (limit) => limit.units - (await countersOf(database.db, limit)).at(-1)!.used),
  );
  const fits = (plan: Plan): boolean =>
    limits.every(({ type }, at) => boundUnits(type, plan, plan.outputTokensMax) <= left[at]!);
  let [least, beyond] = [0, Math.max(...left)];
  while (beyond - least > 1) {
    const middle = Math.floor((least + beyond) / 2);
    if (fits(planOfAll('rest-1', middle))) least = middle;
    else beyond = middle;
  }
  return least;
}

/** Uses its complete maximum. */
function planOfAll(id: string, outputTokens: number): Plan {
  const reported = { id, form: 'chat' as const, kind: 'whole' as const, outputTokens, pauseMs: 0 };
  const { inputTokensMax } = planOf({ ...reported, inputTokens: 100 }, outputTokens);
  return planOf({ ...reported, inputTokens: inputTokensMax }, outputTokens);
}

async function reportOf(round: Round, known: readonly RequestCharge[]): Promise<GateReport> {
  const { journal, driver, limits, server, turnsMs, death } = round;
  const shares: number[] = [];
  const held = new Map<GateLimit, readonly [number, number]>();
  for (const limit of limits) {
    const counters = await countersOf(server.database.db, limit);
    shares.push(counters.at(-1)!.used / limit.units);
    held.set(limit, [counters[0]!.assumed, counters.at(-1)!.assumed]);
  }
  const { requested } = driver;
  const options = { turnsMs, dead: { ...death, held } };
  return {
    entries: journal.entries,
    requested,
    known,
    usedShare: Math.max(...shares),
    windows: (await countersOf(server.database.db, limits[0]!)).length,
    falselyRefused: falseRefusals(limits, known, requested, options),
  };
}
