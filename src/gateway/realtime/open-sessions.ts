/** Tracks the open sessions of the process: bounds them, has them follow changes, and ends them at shutdown. */
import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { RealtimeSession } from './realtime-session.ts';

export interface SessionCounts {
  readonly sessionsMax: number;
  readonly sessionsOfKeyMax: number;
}

/** Figures for metrics. */
export interface SessionFigures {
  readonly open: number;
  readonly callerEvents: number;
  readonly providerEvents: number;
}

/** A place among the sessions, taken before the provider is called. */
export interface SessionPlace {
  start(session: RealtimeSession): void;
  release(): void;
}

/** How often ends of keys and durations are compared with the clock. */
const sweepMs = 500;
/** How often it is looked whether a session has ended at shutdown. */
const drainMs = 50;
/** Time at the end of a shutdown in which running responses are cancelled. */
const lastMs = 1_500;
/** Sessions that read their rights at the same time, which the database answers. */
const followersMax = 16;

export class OpenSessions {
  readonly #counts: SessionCounts;
  readonly #byKey = new Map<string, number>();
  readonly #sessions = new Set<RealtimeSession>();
  /** Organisations whose sessions are following a change; true when another change has come meanwhile. */
  readonly #following = new Map<string, boolean>();
  readonly #events = { caller: 0, provider: 0 };
  #places = 0;
  #isClosing = false;
  #sweep: NodeJS.Timeout | null = null;

  constructor(counts: SessionCounts) {
    this.#counts = counts;
  }

  figures(): SessionFigures {
    const { caller, provider } = this.#events;
    return { open: this.#sessions.size, callerEvents: caller, providerEvents: provider };
  }

  noteEvent(side: 'caller' | 'provider'): void {
    this.#events[side] += 1;
  }

  /** @throws GatewayError when there are too many sessions, or the process ends */
  takePlace({ id }: GatewayKey): SessionPlace {
    const { sessionsMax, sessionsOfKeyMax } = this.#counts;
    const ofKey = this.#byKey.get(id) ?? 0;
    if (this.#isClosing)
      throw new GatewayError('unavailable', 'The gateway is stopping; try again');
    if (ofKey >= sessionsOfKeyMax) {
      const message = `The API key has ${ofKey} open realtime sessions, which is the most; close one`;
      throw new GatewayError('rate_limit_exceeded', message);
    }
    if (this.#places >= sessionsMax) {
      throw new GatewayError(
        'unavailable',
        'The gateway has reached its limit of realtime sessions',
      );
    }
    this.#byKey.set(id, ofKey + 1);
    this.#places += 1;
    let started: RealtimeSession | null = null;
    let isReleased = false;
    return {
      start: (session) => {
        started = session;
        this.#sessions.add(session);
        this.#sweep ??= setInterval(() => this.#checkAll(), sweepMs).unref();
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#release(id, started);
      },
    };
  }

  /** Something of the organisation has changed: a key, a provider, a guardrail, or anything else. */
  noteChange(organisationId: string): void {
    if (this.#sessions.size === 0) return;
    if (this.#following.has(organisationId)) {
      this.#following.set(organisationId, true);
      return;
    }
    detach('open realtime sessions', this.#followAll(organisationId));
  }

  /**
   * Ends sessions as soon as they run no response, and all of them shortly before `graceMs` are over, so that what a
   * cancelled response has used is still charged.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const deadlineMs = monotonicMs() + graceMs;
    while (this.#sessions.size > 0 && monotonicMs() < deadlineMs) {
      const isLate = deadlineMs - monotonicMs() <= lastMs;
      for (const session of this.#sessions) {
        if (!isLate && session.isBusy) continue;
        session.end({ code: 1001, reason: 'the gateway is stopping', errorCode: null });
      }
      await delay(drainMs);
    }
  }

  #release(id: string, session: RealtimeSession | null): void {
    this.#places -= 1;
    const left = (this.#byKey.get(id) ?? 1) - 1;
    if (left === 0) this.#byKey.delete(id);
    else this.#byKey.set(id, left);
    if (session !== null) this.#sessions.delete(session);
    if (this.#sessions.size > 0 || this.#sweep === null) return;
    clearInterval(this.#sweep);
    this.#sweep = null;
  }

  async #followAll(organisationId: string): Promise<void> {
    try {
      do {
        this.#following.set(organisationId, false);
        const affected = [...this.#sessions]
          .filter(({ terms }) => terms.exchange.key.organisationId === organisationId)
          .values();
        const follow = async (): Promise<void> => {
          for (const session of affected) await session.follow();
        };
        await Promise.all(Array.from({ length: followersMax }, follow));
      } while (this.#following.get(organisationId) === true);
    } finally {
      this.#following.delete(organisationId);
    }
  }

  #checkAll(): void {
    const nowMs = monotonicMs();
    for (const session of this.#sessions) session.check(nowMs);
  }
}
