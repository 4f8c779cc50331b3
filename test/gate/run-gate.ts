/** Knows the gate that limits have to pass: three gateways and a crowd on one limit, a window that turns over, and a death. */
import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { chargeLostSlices } from '../../src/jobs/charge-lost-slices.ts';
import type { DatabaseSettings } from '../../src/settings.ts';
import { isUnavailable } from '../../src/store/connection/unavailable.ts';
import { readTrustedHosts } from '../../src/trusted-hosts.ts';
import { eventually } from '../support/server/eventually.ts';
import { jobContext } from '../support/server/job-context.ts';
import { logIsWritten } from '../support/server/request-log.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
import { chargedUnits, chargeFault, type Known, knownRequests } from './charges.ts';
import {
  boundUnits,
  type Counter,
  countersOf,
  type GateLimit,
  heldUnits,
  trueUnits,
} from './counters.ts';
import { type Asked, Driver, isRefused } from './driver.ts';
import { type GatewayProcess, newMasterKeys, startGatewayProcess } from './gateway-processes.ts';
import { type Entry, type Journal, startJournal } from './journal.ts';
import { numbersOf, type Plan, planOf } from './plan.ts';
import { falseRefusals, outputTokensLeast } from './refusals.ts';

/** What is limited, and to how many units. */
interface GateTerms {
  readonly key?: { readonly type: 'cost' | 'tokens'; readonly units: number };
  readonly workspace?: { readonly type: 'cost' | 'tokens'; readonly units: number };
  /** Of each team, of which there is one. */
  readonly policy?: { readonly type: 'requests'; readonly units: number };
}

export interface GateOptions {
  readonly seed: number;
  readonly callers: number;
  readonly terms: GateTerms;
  /** Most output that a request asks for. */
  readonly outputTokensMost: number;
  /** Whether the window of the key turns over while the crowd asks. */
  readonly turns?: boolean;
  /** One gateway is killed after so many requests; none when absent. */
  readonly killAfter?: number;
  /** How far the clock of one gateway is ahead. */
  readonly clockOffMs?: number;
  /** By what way each gateway reaches the database. */
  readonly databaseOf?: (gateway: number, real: DatabaseSettings) => Promise<DatabaseSettings>;
  /** Where the database of all is; that of the tests when absent. */
  readonly between?: (real: DatabaseSettings) => Promise<DatabaseSettings>;
  /** What a dead gateway held is charged when its lease is over, not before its time. */
  readonly waitsForLease?: boolean;
  /** What else happens while the crowd asks. */
  readonly meanwhile?: (gate: RunningGate) => Promise<void>;
}

export interface RunningGate {
  readonly server: TestServer;
  readonly journal: Journal;
  readonly processes: readonly GatewayProcess[];
}

export interface GateReport {
  readonly entries: readonly Entry[];
  readonly asked: readonly Asked[];
  readonly known: readonly Known[];
  /** The greatest part of any limit that was used in its last window. */
  readonly usedShare: number;
  readonly falselyRefused: readonly Asked[];
  /** Windows of the first limit in which anything was used. */
  readonly windows: number;
}

const leaseMs = 30_000;
const gatewayCount = 3;
/** Of whom the last units are asked. */
const fewCallers = 2;
const watchMs = 100;
const turnsAfterMs = 1_000;

/** Asks until the limits are reached, and holds what the database says against the journal. */
export async function runGate(options: GateOptions): Promise<GateReport> {
  const { seed, callers, turns = false, killAfter } = options;
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
  const { key, limits } = await addLimits(server, options.terms);
  const beganMs = Date.now();
  const processes = await startProcesses(server, journal, options);
  for (const one of processes) stack.use(one);
  // So late that even a busy machine asks something before.
  const turnsMs = turns ? 2 * Date.now() - beganMs + turnsAfterMs : null;
  if (turnsMs !== null) await turnWindowAt(server, turnsMs);
  const config = { provider: 'mock-upstream', custom_host: journal.url };
  const death: Death = { gate: null, atMs: Number.POSITIVE_INFINITY };
  const driver = stack.use(
    new Driver({
      ...{ gates: processes, random, untilMs: turnsMs ?? 0 },
      outputTokensMost: options.outputTokensMost,
      alive: () => processes.map((_, at) => at).filter((at) => at !== death.gate),
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
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

/** `GATE_SEED` of a run that failed draws the same requests again. */
export function newSeed(): number {
  const seed = Number(process.env.GATE_SEED ?? randomInt(2 ** 31));
  console.log(`GATE_SEED=${seed}`);
  return seed;
}

/** In one line, for who compares runs. */
export function tell(report: GateReport): void {
  const { asked, entries, known, usedShare, falselyRefused, windows } = report;
  const answers = Object.groupBy(asked, ({ status, code }) => `${status} ${code ?? ''}`.trim());
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
}

interface Death {
  /** Which gateway died. */
  gate: number | null;
  atMs: number;
}

interface Round extends RunningGate {
  readonly driver: Driver;
  readonly limits: readonly GateLimit[];
  /** When the window of the key turns over. */
  readonly turnsMs: number | null;
  readonly death: Death;
}

async function addLimits(
  server: TestServer,
  { key, workspace, policy }: GateTerms,
): Promise<{ readonly key: string; readonly limits: GateLimit[] }> {
  const make = async (path: string, body: object): Promise<ReturnType<typeof JSON.parse>> => {
    const made = await server.request('POST', path, { body });
    if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
    return made.body;
  };
  const terms = ({ type, units }: NonNullable<GateTerms['key' | 'workspace' | 'policy']>) => ({
    ...{ type, credit_limit: type === 'cost' ? units / 1_000_000 : units },
  });
  const limits: GateLimit[] = [];
  const { id: workspaceId } = await make('/admin/v2/workspaces', {
    name: 'gate',
    ...(workspace && { usage_limits: [terms(workspace)] }),
  });
  if (workspace) limits.push({ name: 'workspace', subjectId: workspaceId, ...workspace });
  const made = await make('/v1/api-keys/workspace/service', {
    ...{ name: 'caller', scopes: ['completions.write'], workspace_id: workspaceId },
    ...(key && { usage_limits: { ...terms(key), periodic_reset_days: 365 } }),
  });
  if (key) limits.push({ name: 'key', subjectId: made.id, ...key });
  if (policy) {
    const { id } = await make('/v1/policies/usage-limits', {
      ...{ name: 'teams', workspace_id: workspaceId, ...terms(policy) },
      ...{ conditions: [{ key: 'metadata.team', value: '*' }] },
      group_by: [{ key: 'metadata.team' }],
    });
    limits.push({ name: 'policy', subjectId: id, ...policy });
  }
  return { key: made.key, limits };
}

async function startProcesses(
  { settings }: TestServer,
  { host: trusted }: Journal,
  { clockOffMs, databaseOf = async (_, real) => real }: GateOptions,
): Promise<GatewayProcess[]> {
  const starting = Array.from({ length: gatewayCount }, async (_, at) => {
    const database = await databaseOf(at, settings.database!);
    return startGatewayProcess({
      settings: { ...settings, database },
      trusted,
      ...(at === 1 && clockOffMs !== undefined && { clockOffMs }),
    });
  });
  return Promise.all(starting);
}

/** Nobody has read the budget yet. */
async function turnWindowAt({ database }: TestServer, atMs: number): Promise<void> {
  await database.db.updateTable('usage_budgets').set({ next_reset_at: atMs }).execute();
}

/** What is used and reserved is never beyond the limit, at no moment. */
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

/** Nothing is known of a database that cannot be asked. */
function noneWhereAway(error: unknown): Counter[] {
  if (isUnavailable(error)) return [];
  throw error;
}

/** All that is not lost is given back; what is lost is charged, and nothing stays reserved. */
async function bringToRest(
  { server, limits, death }: Round,
  { waitsForLease = false }: GateOptions,
): Promise<void> {
  const { db } = server.database;
  const dead = await eventually(async () => {
    const slices = await db
      .selectFrom('usage_slices as slice')
      .innerJoin('usage_holders as holder', 'holder.holder', 'slice.holder')
      .select(['slice.holder', 'holder.lease_until'])
      .execute();
    // A lease that was renewed after the death is of somebody who lives.
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
      .updateTable('usage_holders')
      .set({ lease_until: 0 })
      .where('holder', '=', dead)
      .where('lease_until', '<=', death.atMs + leaseMs)
      .execute();
    await chargeLost();
  }
  // Who was busy a moment ago may take some again before it sees that it is not.
  await eventually(async () => {
    if (waitsForLease) await chargeLost();
    for (const [at, limit] of limits.entries()) {
      const counters = await countersOf(db, limit);
      expect(counters.map(({ reserved }) => reserved)).toEqual(counters.map(() => 0));
      expect(counters.reduce((sum, { assumed }) => sum + assumed, 0)).toBe(held[at]);
    }
  });
}

/** Each request of a gateway that lives was charged with what its provider says, or, where nobody is told, with no less. */
async function checkCharges(round: Round): Promise<Known[]> {
  const { server, journal, processes, driver, death } = round;
  await Promise.all(processes.filter((_, at) => at !== death.gate).map(logIsWritten));
  const known = await knownRequests(server.database.db, journal.entries, driver.asked, death.gate);
  const ofLiving = known.filter(({ asked }) => asked.gate !== death.gate);
  expect(ofLiving.map(chargeFault).filter((fault) => fault !== null)).toEqual([]);
  return known;
}

/** The ledger agrees with the log to the unit, but for what the dead gateway held; the journal is within the limit. */
async function checkCounters(
  { server, turnsMs, death }: Round,
  limit: GateLimit,
  known: readonly Known[],
): Promise<void> {
  const { type, units, name } = limit;
  const counters = await countersOf(server.database.db, limit);
  const sum = { ofLiving: 0, ofDead: 0, beforeTurn: 0, afterTurn: 0, true: 0 };
  for (const request of known) {
    const { entry, asked } = request;
    sum[asked.gate === death.gate ? 'ofDead' : 'ofLiving'] += chargedUnits(type, request);
    if (entry === null) continue;
    const isTurned = name === 'key' && turnsMs !== null;
    if (!isTurned || entry.atMs < turnsMs) sum.beforeTurn += trueUnits(type, entry);
    else if (asked.sentMs >= turnsMs) sum.afterTurn += trueUnits(type, entry);
    sum.true += trueUnits(type, entry);
  }
  const told = (field: 'used' | 'assumed') =>
    counters.reduce((total, counter) => total + counter[field], 0);
  for (const { used } of counters) expect(used).toBeLessThanOrEqual(units);
  expect([sum.beforeTurn, sum.afterTurn].every((one) => one <= units)).toBe(true);
  expect(told('used')).toBeGreaterThanOrEqual(sum.true);
  const ofDead = told('used') - told('assumed') - sum.ofLiving;
  expect(ofDead).toBeGreaterThanOrEqual(0);
  expect(ofDead).toBeLessThanOrEqual(sum.ofDead);
}

/** A request that may use all that is left is let through and does so; the next one is refused. */
async function useTheRest({ server, driver, limits }: Round): Promise<void> {
  const { db } = server.database;
  const left = await Promise.all(
    limits.map(async (limit) => limit.units - (await countersOf(db, limit)).at(-1)!.used),
  );
  const fits = (plan: Plan): boolean =>
    limits.every(({ type }, at) => boundUnits(type, plan, plan.outputTokensMax) <= left[at]!);
  let [least, beyond] = [0, Math.max(...left)];
  while (beyond - least > 1) {
    const middle = Math.floor((least + beyond) / 2);
    if (fits(planOfAll('rest-1', middle))) least = middle;
    else beyond = middle;
  }
  let tries = 0;
  await eventually(async () => {
    if (least <= 0) return;
    tries += 1;
    expect((await driver.ask(planOfAll(`rest-${tries}`, least))).status).toBe(200);
  });
  expect(isRefused(await driver.ask(planOfAll('more', outputTokensLeast)))).toBe(true);
}

/** Uses all that it may. */
function planOfAll(id: string, outputTokens: number): Plan {
  const told = { id, kind: 'whole' as const, outputTokens, pauseMs: 0 };
  const { length } = planOf({ ...told, inputTokens: 100 }, outputTokens).body;
  return planOf({ ...told, inputTokens: length }, outputTokens);
}

async function reportOf(round: Round, known: readonly Known[]): Promise<GateReport> {
  const { journal, driver, limits, server, turnsMs, death } = round;
  const shares = await Promise.all(
    limits.map(async (limit) => {
      const { used } = (await countersOf(server.database.db, limit)).at(-1)!;
      return used / limit.units;
    }),
  );
  const { asked } = driver;
  const options = { turnsMs, deadGate: death.gate };
  return {
    ...{ entries: journal.entries, asked, known, usedShare: Math.max(...shares) },
    windows: (await countersOf(server.database.db, limits[0]!)).length,
    falselyRefused: falseRefusals(limits, known, asked, options),
  };
}
