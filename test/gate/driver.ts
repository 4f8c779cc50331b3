/** Knows how a crowd of callers asks gateways for everything at once, leaves, is refused, and what each of them saw. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { drawPlan, type Plan } from './plan.ts';

/** Something that answers like a gateway. */
interface Gate {
  readonly inferenceUrl: string;
}

/** What a caller saw of its request. */
export interface Asked {
  readonly plan: Plan;
  /** Of the gateways, which. */
  readonly gate: number;
  readonly sentMs: number;
  readonly doneMs: number;
  /** 0 where there was no answer, or the caller left before it. */
  readonly status: number;
  readonly code: string | null;
}

export interface Crowd {
  readonly gates: readonly Gate[];
  /** Those that are still there. */
  readonly alive: () => readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  readonly random: () => number;
  /** Most output that a request asks for. */
  readonly outputTokensMost: number;
  /** Before this a refusal is no reason to stop asking. */
  readonly untilMs: number;
}

const againMs = 20;

/** Statuses of a limit that is reached. */
const refusals: ReadonlySet<number> = new Set([412, 429]);

export function isRefused({ status }: Asked): boolean {
  return refusals.has(status);
}

export class Driver implements AsyncDisposable {
  readonly #crowd: Crowd;
  readonly #pools: readonly Pool[];
  readonly asked: Asked[] = [];
  /** By the id of each request that was sent: its bytes. */
  readonly sent = new Map<string, Plan>();

  constructor(crowd: Crowd) {
    this.#crowd = crowd;
    const options = { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 };
    this.#pools = crowd.gates.map(({ inferenceUrl }) => new Pool(inferenceUrl, options));
  }

  /** So many callers, each of which asks again and again until it is refused; those who are refused too early wait. */
  async drive(callers: number): Promise<void> {
    const all = Array.from({ length: callers }, async () => {
      for (;;) {
        const asked = await this.ask(this.#draw());
        // A gateway that was killed, or whose database is away.
        if (asked.status === 0 || asked.status === 503) await wait(againMs);
        if (!isRefused(asked)) continue;
        if (asked.sentMs >= this.#crowd.untilMs) return;
        await wait(Math.max(0, this.#crowd.untilMs - Date.now()));
      }
    });
    await Promise.all(all);
  }

  #draw(): Plan {
    const { outputTokensMost, random } = this.#crowd;
    return drawPlan(`${this.sent.size}`, outputTokensMost, random);
  }

  /** One request, to any gateway that is there. */
  async ask(plan: Plan): Promise<Asked> {
    const { alive, random } = this.#crowd;
    const gates = alive();
    const gate = gates[Math.floor(random() * gates.length)]!;
    const sentMs = Date.now();
    this.sent.set(plan.id, plan);
    const saw = await this.#send(plan, gate).catch(() => ({ status: 0, code: null }));
    const asked = { plan, gate, sentMs, doneMs: Date.now(), ...saw };
    this.asked.push(asked);
    return asked;
  }

  async #send(plan: Plan, gate: number): Promise<Pick<Asked, 'status' | 'code'>> {
    const pool = this.#pools[gate]!;
    const going = plan.kind === 'gone' ? AbortSignal.timeout(this.#crowd.random() * 30) : null;
    const { statusCode: status, body } = await pool.request({
      ...{ path: '/v1/chat/completions', method: 'POST' as Dispatcher.HttpMethod },
      headers: { ...this.#crowd.headers, 'x-gateway-trace-id': plan.id },
      ...{ body: plan.body, signal: going },
    });
    if (plan.kind === 'left' && status === 200) {
      for await (const _ of body) break;
      return { status, code: null };
    }
    const text = await body.text().catch(() => '');
    return {
      status,
      code: status >= 400 && text !== '' ? (JSON.parse(text).error.code ?? null) : null,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pool of this.#pools) await pool.destroy();
  }
}
