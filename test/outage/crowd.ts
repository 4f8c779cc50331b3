/** Sends requests of a crowd of callers to gateways that come and go, and records what each caller saw. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { CallerObservation } from '../gate/driver.ts';
import { drawPlan, type Plan } from '../gate/plan.ts';
import type { GatewayPlace } from './deployment.ts';

/** A key of the crowd. */
export interface CrowdKey {
  readonly key: string;
  readonly id: string;
  readonly kind: 'unlimited' | 'refusing' | 'allowing' | 'passing';
  /** When its revocation was requested; null while it is good. */
  revokedAtMs: number | null;
}

/** A process of a gateway. */
export interface Incarnation {
  readonly index: number;
  readonly place: number;
  readonly pool: Pool;
  /** Revoked keys that its saved snapshot lacked when it started. */
  readonly startedWithout: ReadonlySet<CrowdKey>;
  /** Keys that it has refused, with the time of the first refusal. */
  readonly refused: Map<CrowdKey, number>;
  isAlive: boolean;
  isKilled: boolean;
  /** When it was killed, or its order to stop was sent. */
  endedAtMs: number;
  /** Killed, or stopped while its database was away, so that it may not have settled. */
  isUnsettled: boolean;
}

export interface CrowdObservation extends CallerObservation {
  readonly by: CrowdKey;
  /** Whether the answer arrived to its last byte. */
  readonly isWhole: boolean;
  /** Age of the configuration that the answer states, in seconds; null while the database responds. */
  readonly ageSeconds: number | null;
}

interface CrowdOptions {
  readonly random: () => number;
  readonly config: string;
  readonly outputTokensMost: number;
}

const pauseMs = 20;

export class Crowd implements AsyncDisposable {
  readonly requested: CrowdObservation[] = [];
  readonly keys: CrowdKey[] = [];
  readonly incarnations: Incarnation[] = [];
  readonly #options: CrowdOptions;
  #sent = 0;

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** Takes the running process of a place as a new target. */
  async admit(place: GatewayPlace, at: number, saved: { holds(key: string): boolean }) {
    const revoked = this.keys.filter(({ revokedAtMs }) => revokedAtMs !== null);
    const incarnation: Incarnation = {
      index: this.incarnations.length,
      place: at,
      pool: new Pool(place.url, { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 }),
      startedWithout: new Set(revoked.filter(({ key }) => !saved.holds(key))),
      refused: new Map(),
      isAlive: true,
      isKilled: false,
      endedAtMs: Number.POSITIVE_INFINITY,
      isUnsettled: false,
    };
    this.incarnations.push(incarnation);
    return incarnation;
  }

  /** Sends requests until the signal. */
  async drive(callers: number, over: AbortSignal): Promise<void> {
    const all = Array.from({ length: callers }, async () => {
      while (!over.aborted) {
        const status = await this.#askAny();
        if (status !== 200) await wait(pauseMs);
      }
    });
    await Promise.all(all);
  }

  async #askAny(): Promise<number> {
    const { random, outputTokensMost } = this.#options;
    const alive = this.incarnations.filter(({ isAlive }) => isAlive);
    const target = alive[Math.floor(random() * alive.length)];
    if (target === undefined) return 0;
    const by = this.keys[Math.floor(random() * this.keys.length)]!;
    this.#sent += 1;
    const plan = drawPlan(`${this.#sent}`, ['chat'], outputTokensMost, random);
    return (await this.ask(plan, by, target)).status;
  }

  async ask(plan: Plan, by: CrowdKey, target: Incarnation): Promise<CrowdObservation> {
    const sentMs = Date.now();
    const saw = await this.#send(plan, by, target).catch(() => noAnswer);
    const seen = { plan, by, gate: target.index, sentMs, doneMs: Date.now(), ...saw };
    this.requested.push(seen);
    if (saw.status === 401 && !target.refused.has(by)) target.refused.set(by, seen.doneMs);
    return seen;
  }

  async #send(plan: Plan, by: CrowdKey, { pool }: Incarnation): Promise<typeof noAnswer> {
    const going = plan.kind === 'gone' ? AbortSignal.timeout(this.#options.random() * 30) : null;
    const { statusCode, headers, body } = await pool.request({
      path: plan.path,
      method: 'POST',
      headers: {
        authorization: `Bearer ${by.key}`,
        'content-type': 'application/json',
        'x-gateway-config': this.#options.config,
        'x-gateway-trace-id': plan.id,
      },
      body: plan.body,
      signal: going,
    });
    const age = headers['x-gateway-config-age'];
    const ageSeconds = age === undefined ? null : Number(age);
    const saw = { status: statusCode, code: null, ageSeconds };
    if (plan.kind === 'left' && statusCode === 200) {
      for await (const _ of body) break;
      return { ...saw, isWhole: false };
    }
    const text = await body.text().catch(() => null);
    const code = statusCode >= 400 && text ? codeIn(text) : null;
    return { ...saw, code, isWhole: text !== null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pool } of this.incarnations) await pool.destroy();
  }
}

const noAnswer: Pick<CrowdObservation, 'status' | 'code' | 'isWhole' | 'ageSeconds'> = {
  status: 0,
  code: null,
  isWhole: false,
  ageSeconds: null,
};

function codeIn(text: string): string | null {
  return JSON.parse(text).error?.code ?? null;
}
