/** Runs a gauntlet: traffic and faults at the same time, then the invariants. */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SeededRandom } from '../support/run/seeded-random.ts';
import { measureDelays } from '../support/spool/write-delays.ts';
import { everyFault } from './faults/every-fault.ts';
import { Injector } from './faults/injector.ts';
import { everyInvariant } from './invariants/every-invariant.ts';
import type { Aftermath } from './invariants/invariant.ts';
import { prepareLoads } from './load/every-load.ts';
import { pace } from './load/pacer.ts';
import { watchStalls } from './load/stalls.ts';
import type { FaultPlan } from './plan/fault-plan.ts';
import type { Finding, GauntletResult, Violation } from './report.ts';
import { bringToRest } from './rest.ts';
import { startScene } from './scene/scene.ts';

export interface GauntletTerms {
  readonly plan: FaultPlan;
  readonly rate: number;
  readonly database: string;
  /** Folder for the logs of all processes; null to delete them. */
  readonly logs: string | null;
  readonly tell: (line: string) => void;
}

const minuteMs = 60_000;
/** Documented in docs/guides/operations.md, Spool. */
const groupMs = 10;
/** A fault whose healing hangs ends the run with an error after this time. */
const healMsMax = 180_000;

export async function runGauntlet({
  plan,
  rate,
  database,
  logs,
  tell,
}: GauntletTerms): Promise<GauntletResult> {
  await using stack = new AsyncDisposableStack();
  tell('starting the processes');
  const scene = stack.use(await startScene(database, logs));
  const random = new SeededRandom(plan.seed);
  const options = { random: () => random.next(), rate, minutes: plan.minutes };
  const loads = await prepareLoads(scene, options);
  stack.use(loads);
  const delaysOver = measureDelays(join(scene.folder, 'sync'));
  const injector = new Injector(scene, everyFault, (line) => tell(line));
  const { stalls } = stack.use(watchStalls());
  const over = new AbortController();
  const beganMs = Date.now();
  tell(`sending ${rate} requests a second for ${plan.minutes} minutes`);
  const pacing = pace(loads.every, rate, over.signal);
  await Promise.race([
    Promise.all([injector.run(plan), wait(plan.minutes * minuteMs)]),
    expire(plan.minutes * minuteMs + healMsMax),
  ]);
  over.abort();
  const tookMs = Date.now() - beganMs;
  const traffic = await pacing;
  const killBoundMs = groupMs + (await delaysOver());
  tell(`bringing everything to rest; a kill may take rows of ${killBoundMs.toFixed(0)} ms`);
  const rest = await bringToRest(scene, loads, killBoundMs);
  const { injections, omissions } = injector;
  const aftermath = { scene, loads, traffic, injections, stalls, killBoundMs, ...rest };
  const findings = await findViolations(aftermath, beganMs);
  return { plan, rate, database, tookMs, traffic, injections, stalls, omissions, findings };
}

async function findViolations(aftermath: Aftermath, beganMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, document, check } of everyInvariant) {
    const violations = (await check(aftermath)).map((found): Violation => {
      if (typeof found === 'string') return { line: found, atMs: null };
      return { line: found.line, atMs: [found.fromMs - beganMs, found.toMs - beganMs] };
    });
    findings.push({ invariant: name, document, violations });
  }
  return findings;
}

async function expire(ms: number): Promise<never> {
  await wait(ms, undefined, { ref: false });
  throw new Error(`faults were not healed within ${healMsMax / 1_000} s after the traffic`);
}
