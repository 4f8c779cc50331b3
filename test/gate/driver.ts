/** Sends requests of a crowd of callers to gateways, with disconnects and refusals, and records what each caller saw. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import type { FormName } from './forms.ts';
import { drawPlan, type Plan } from './plan.ts';

/** Something that responds like a gateway. */
interface Gate {
  readonly inferenceUrl: string;
}

/** The caller's observation of its request. */
export interface CallerObservation {
  readonly plan: Plan;
  /** Index of the gateway. */
  readonly gate: number;
  readonly sentMs: number;
  readonly doneMs: number;
  /** 0 without a response, or if the caller disconnected before it. */
  readonly status: number;
  readonly code: string | null;
}

export interface Crowd {
  readonly gates: readonly Gate[];
  /** Gateways that are still running. */
  readonly alive: () => readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  /** Forms of the requests. */
  readonly forms: readonly FormName[];
  /** Config of the forms that are not sent to the mock upstream. */
  readonly configs?: ReadonlyMap<FormName, object>;
  readonly random: () => number;
  /** Maximum output that a request asks for. */
  readonly outputTokensMost: number;
  /** Refusals before this do not stop a caller. */
  readonly untilMs: number;
}

const againMs = 20;

/** Statuses of an exhausted limit. */
const refusals: ReadonlySet<number> = new Set([412, 429]);

export function isRefused({ status }: CallerObservation): boolean {
  return refusals.has(status);
}

/** The error code; null in forms that have none. */
function codeIn(text: string): string | null {
  return JSON.parse(text).error?.code ?? null;
}

export class Driver implements AsyncDisposable {
  readonly #crowd: Crowd;
  readonly #pools: readonly Pool[];
  /** A rejection that no limit explains. */
  #unexpected: string | null = null;
  readonly requested: CallerObservation[] = [];
  /** Bytes of each sent request by its id. */
  readonly sent = new Map<string, Plan>();

  constructor(crowd: Crowd) {
    this.#crowd = crowd;
    const options = { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 };
    this.#pools = crowd.gates.map(({ inferenceUrl }) => new Pool(inferenceUrl, options));
  }

  /** Runs callers that each send requests until refused; a caller refused too early waits. */
  async drive(callers: number): Promise<void> {
    const all = Array.from({ length: callers }, async () => {
      for (;;) {
        const requested = await this.ask(this.#draw());
        if (this.#unexpected !== null) throw new Error(this.#unexpected);
        // A killed gateway, or one without a database.
        if (requested.status === 0 || requested.status === 503) await wait(againMs);
        if (!isRefused(requested)) continue;
        if (requested.sentMs >= this.#crowd.untilMs) return;
        await wait(Math.max(0, this.#crowd.untilMs - Date.now()));
      }
    });
    await Promise.all(all);
  }

  #draw(): Plan {
    const { forms, outputTokensMost, random } = this.#crowd;
    return drawPlan(`${this.sent.size}`, forms, outputTokensMost, random);
  }

  /** Sends one request to any running gateway. */
  async ask(plan: Plan): Promise<CallerObservation> {
    const { alive, random } = this.#crowd;
    const gates = alive();
    const gate = gates[Math.floor(random() * gates.length)]!;
    const sentMs = Date.now();
    this.sent.set(plan.id, plan);
    const saw = await this.#send(plan, gate).catch(() => ({ status: 0, code: null }));
    const requested = { plan, gate, sentMs, doneMs: Date.now(), ...saw };
    this.requested.push(requested);
    return requested;
  }

  async #send(plan: Plan, gate: number): Promise<Pick<CallerObservation, 'status' | 'code'>> {
    const pool = this.#pools[gate]!;
    const going = plan.kind === 'gone' ? AbortSignal.timeout(this.#crowd.random() * 30) : null;
    const config = this.#crowd.configs?.get(plan.form);
    const { statusCode: status, body } = await pool.request({
      path: plan.path,
      method: 'POST' as Dispatcher.HttpMethod,
      headers: {
        ...this.#crowd.headers,
        'x-gateway-trace-id': plan.id,
        ...(config && { 'x-gateway-config': JSON.stringify(config) }),
      },
      body: plan.body,
      signal: going,
    });
    if (plan.kind === 'left' && status === 200) {
      for await (const _ of body) break;
      return { status, code: null };
    }
    const text = await body.text().catch(() => '');
    const requested = { status, code: status >= 400 && text !== '' ? codeIn(text) : null };
    if (status >= 400 && status < 500 && !refusals.has(status)) this.#unexpected ??= text;
    return requested;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pool of this.#pools) await pool.destroy();
  }
}
