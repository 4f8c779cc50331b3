/** Decides how many units of a limit a process holds in advance, and for how long. */
import type { Limit } from './limit.ts';
import { RecentUse, recentMs } from './rates/recent-use.ts';
import { UsageRate } from './rates/usage-rate.ts';
import { holderLeaseMs, leaseMarginMs } from './slice-lease.ts';

/** Time that the free units last at least at the current rate, however near the limit is. */
const aheadMs = 1_000;
/** Largest share of a limit that a process holds for that time. */
const aheadShareMax = 0.01;
/** Idle time after which no units are held for that time. */
const idleMs = 2_000;
/** Time for which a journal leaves room. */
const soonMs = 4_000;
/** Share of the unused units that all processes together hold for the next minutes. */
const heldShare = 0.25;
/** How long no units are held for minutes after another process lacked them. */
const scarceMs = 10_000;

/** Units to hold, and their lease; null for the lease of the process. */
export interface HoldingTarget {
  readonly units: number;
  readonly leaseMs: number | null;
}

const nothing: HoldingTarget = { units: 0, leaseMs: null };

/**
 * Far from the limit a process holds what it used in the last ten minutes, so that it can go on for as long without the
 * database. As all processes together hold at most a quarter of the unused units, that time shrinks with the time in
 * which they will have used up the limit: to seconds near it.
 */
export class Forecast {
  readonly #rate = new UsageRate(idleMs);
  readonly #own = new RecentUse();
  readonly #others = new RecentUse();
  /** Most units that running requests had reserved recently. */
  #peakUnits = 0;
  #notedMs = 0;
  #recalledMs = Number.NEGATIVE_INFINITY;

  /** A request reserves or uses units; `reserved` are those of all running requests. */
  noteRequest(units: number, reserved: number, nowMs: number): void {
    this.#rate.note(units, nowMs);
    if (reserved > this.#peakUnits) this.#peakUnits = reserved;
  }

  /** Called from time to time with what was used since then; `reserved` are the units of all running requests. */
  noteUse(units: number, reserved: number, nowMs: number): void {
    const faded = this.#peakUnits * Math.exp((this.#notedMs - nowMs) / recentMs);
    this.#peakUnits = Math.max(reserved, faded);
    this.#notedMs = nowMs;
    this.#own.note(units, nowMs);
  }

  noteUseOfOthers(units: number, nowMs: number): void {
    this.#others.note(units, nowMs);
  }

  /** Another process lacks units. */
  noteRecall(nowMs: number): void {
    this.#recalledMs = nowMs;
  }

  /** Units that may be needed within some seconds. */
  unitsSoon(nowMs: number): number {
    return Math.ceil(Math.max(this.#peakUnits, this.#rate.unitsIn(soonMs, nowMs)));
  }

  /** Whether no usage is expected from what is known. */
  isIdle(nowMs: number): boolean {
    return this.#rate.isIdle(nowMs) && (this.#own.isIdle(nowMs) || this.#own.unitsAt(nowMs) < 1);
  }

  /** Whether no request came for two seconds. */
  isQuiet(nowMs: number): boolean {
    return this.#rate.isIdle(nowMs);
  }

  /** `unusedUnits` of the limit; null when they are unknown. */
  target(limit: Limit, unusedUnits: number | null, nowMs: number): HoldingTarget {
    const sinceRecallMs = nowMs - this.#recalledMs;
    if (!limit.isHard || sinceRecallMs < aheadMs) return nothing;
    const most = Math.floor(limit.limitUnits * aheadShareMax);
    const soon = Math.min(this.#rate.unitsIn(aheadMs, nowMs), most);
    const isFar = !limit.isRate && unusedUnits !== null && sinceRecallMs >= scarceMs;
    const share = isFar ? this.#shareHeld(unusedUnits, nowMs) : 0;
    const units = this.#minutesOfUse(share, nowMs);
    if (units <= soon) return soon === 0 ? nothing : { units: soon, leaseMs: null };
    const lastsMs = Math.ceil(this.#own.spanMs(nowMs) * share);
    const isLong = lastsMs > holderLeaseMs - leaseMarginMs;
    return { units, leaseMs: isLong ? holderLeaseMs + lastsMs : null };
  }

  /** Share of ten minutes for which units are held. */
  #shareHeld(unusedUnits: number, nowMs: number): number {
    const all = this.#own.unitsAt(nowMs) + this.#others.unitsAt(nowMs);
    return all === 0 ? 0 : Math.min(1, (Math.max(0, unusedUnits) * heldShare) / all);
  }

  #minutesOfUse(share: number, nowMs: number): number {
    if (share === 0 || this.#own.isIdle(nowMs)) return 0;
    const own = this.#own.unitsAt(nowMs);
    if (own < 1) return 0;
    // Running requests reserve more than they use.
    return Math.floor((own + this.#peakUnits) * share);
  }
}
