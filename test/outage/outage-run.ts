/** Sends requests through failures of a deployment, puts everything back, and checks what must hold afterwards. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { numbersOf } from '../gate/plan.ts';
import { newSeed } from '../gate/run-gate.ts';
import { eventually } from '../support/server/eventually.ts';
import { logIsWritten } from '../support/server/request-log.ts';
import { measureDelays } from '../support/spool/write-delays.ts';
import {
  balanceLimit,
  endLeases,
  falseAnswers,
  falseCharges,
  lacksCharges,
  lostRows,
  readCalls,
} from './books.ts';
import { Crowd, type CrowdKey } from './crowd.ts';
import {
  type Deployment,
  type DeploymentOptions,
  type GatewayOptions,
  type GatewayPlace,
  startDeployment,
} from './deployment.ts';
import { Faults, type LimitedKey } from './faults.ts';

export interface OutageRun {
  readonly deployment: Deployment;
  readonly places: readonly GatewayPlace[];
  readonly crowd: Crowd;
  readonly faults: Faults;
}

export interface OutageOptions extends DeploymentOptions {
  /** Options of each gateway; three usual ones by default. */
  readonly gateways?: readonly GatewayOptions[];
  /** Whether gateways that run on are without the database for longer than the leases of their slices last. */
  readonly outlastsLeases?: boolean;
  /** Makes parts fail while the callers send requests. */
  readonly script: (run: OutageRun) => Promise<void>;
}

const callers = 10;
/** Documented in docs/guides/operations.md, Spool. */
const groupMs = 10;
/** Limit and allowance of each limited key, in tokens. */
const budgets = [
  [40_000, null],
  [150_000, null],
  [20_000, 5_000],
  [100_000, 10_000],
] as const;

export async function runOutage(options: OutageOptions): Promise<Crowd> {
  const random = numbersOf(newSeed());
  const { script, gateways = [{}, {}, {}], outlastsLeases = false } = options;
  await using deployment = await startDeployment({ lostEvery: 50, ...options });
  const config = await deployment.addConfig();
  await using crowd = new Crowd({ random, config, outputTokensMost: 500 });
  const limited = await addKeys(deployment, crowd);
  const places: GatewayPlace[] = [];
  for (const one of gateways) places.push(await deployment.addPlace(one));
  const faults = new Faults({ deployment, crowd, places, limited, random });
  await Promise.all(places.map((_, at) => faults.start(at)));
  await deployment.awaitSaved(...places);
  const delaysOver = measureDelays(join(deployment.folder, 'sync'));
  const over = new AbortController();
  const driving = crowd.drive(callers, over.signal);
  try {
    await script({ deployment, places, crowd, faults });
  } finally {
    over.abort();
    await driving;
  }
  const killBoundMs = groupMs + (await delaysOver());
  await faults.putBack();
  tell(crowd, faults, killBoundMs);
  await Promise.all(places.map(({ process }) => logIsWritten(process!)));
  await deployment.awaitSaved(...places);
  await eventually(async () => {
    expect(await lostRows(deployment.server.database.db, crowd, killBoundMs)).toEqual([]);
  });
  await checkBooks({ deployment, places, crowd, faults }, limited, outlastsLeases);
  return crowd;
}

/** Checks answers, charges and limits, once nothing runs any more. */
async function checkBooks(
  { deployment, places, crowd }: OutageRun,
  limited: readonly LimitedKey[],
  hasEndedLeases: boolean,
): Promise<void> {
  const stop = () => Promise.all(places.map((place) => place.stop()));
  await stop();
  await deployment.killControl();
  const { database } = deployment.server;
  await endLeases(database);
  const known = await readCalls(database.db, deployment.journal.entries, crowd);
  expect(falseAnswers(crowd)).toEqual([]);
  expect(falseCharges(known, crowd)).toEqual([]);
  const isLacking = () => lacksCharges(database.db, crowd, known, limited);
  if (await isLacking()) {
    // The next processes settle what was left on their disks.
    await Promise.all(places.map((place) => place.start()));
    await eventually(async () => expect(await isLacking()).toBe(false)).catch(() => undefined);
    await stop();
    await endLeases(database);
  }
  for (const one of limited) {
    const check = { limited: one, places: places.length, hasEndedLeases };
    const { summary, overspent, miscounted } = await balanceLimit(database.db, crowd, known, check);
    console.log(summary);
    expect([...overspent, ...miscounted]).toEqual([]);
  }
}

async function addKeys(deployment: Deployment, crowd: Crowd): Promise<LimitedKey[]> {
  const add = async (kind: CrowdKey['kind'], more: object = {}): Promise<CrowdKey> => {
    const key: CrowdKey = { ...(await deployment.addKey(more)), kind, revokedAtMs: null };
    crowd.keys.push(key);
    return key;
  };
  for (const _ of [1, 2]) await add('unlimited');
  for (const _ of [1, 2, 3, 4]) await add('passing');
  const limited: LimitedKey[] = [];
  for (const [limitUnits, allowanceUnits] of budgets) {
    const kind = allowanceUnits === null ? 'refusing' : 'allowing';
    const terms = { type: 'tokens', credit_limit: limitUnits, periodic_reset_days: 365 };
    const allowance = allowanceUnits === null ? {} : { on_outage_allowance: allowanceUnits };
    const key = await add(kind, { usage_limits: { ...terms, ...allowance } });
    limited.push({ key, allowanceUnits, limitUnits, limitUnitsMost: limitUnits });
  }
  return limited;
}

/** Prints events and answers, for a failed run. */
function tell(crowd: Crowd, faults: Faults, boundMs: number): void {
  const answers = Object.groupBy(
    crowd.requested,
    ({ by, status, code }) => `${by.kind} ${status} ${code ?? ''}`,
  );
  const counts = Object.entries(answers).map(([answer, some]) => `${some!.length} × ${answer}`);
  const total = `${crowd.requested.length} requests, bound of a kill ${boundMs.toFixed(0)} ms`;
  console.log([...faults.done, total, ...counts.toSorted()].join('\n'));
}
