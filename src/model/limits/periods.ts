/** Knows when usage starts again from zero: schedules, their boundaries, and how many of them were missed. */

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** The epoch was a Thursday; the first Monday 00:00 UTC came four days later. */
const firstMondayMs = 4 * dayMs;

/** At most one of the two is set; neither means that usage never resets by itself. */
export interface ResetSchedule {
  readonly periodicReset: 'weekly' | 'monthly' | null;
  /** 1 to 365. */
  readonly periodicResetDays: number | null;
}

/**
 * The next boundary: Monday 00:00 UTC, the 1st 00:00 UTC, or a whole number of periods of N days
 * after the UTC day of `anchorMs`. It lies after `nowMs`, and after the anchor too, so that a clock
 * that steps back never yields a boundary twice. The anchor is the boundary that was applied last,
 * or the creation; null stands for now. Null when there is no schedule.
 */
export function nextResetAt(
  schedule: ResetSchedule,
  anchorMs: number | null,
  nowMs: number,
): number | null {
  const anchor = anchorMs ?? nowMs;
  const after = Math.max(anchor, nowMs);
  if (schedule.periodicReset === 'weekly') return mondayAt(weekOf(after) + 1);
  if (schedule.periodicReset === 'monthly') return firstOfMonth(monthOf(after) + 1);
  if (schedule.periodicResetDays === null) return null;
  const periodMs = schedule.periodicResetDays * dayMs;
  const start = startOfDay(anchor);
  return start + (Math.floor((after - start) / periodMs) + 1) * periodMs;
}

/** A stretch of time that usage is counted in. */
export interface UsageWindow {
  /** First millisecond of it; names the window among those of its subject. */
  readonly startMs: number;
  /** First millisecond after it; null when it never ends. */
  readonly nextResetAtMs: number | null;
}

/**
 * The window that `nowMs` lies in, where `stored` is the one that was written last. As long as that
 * lasts, it is that one. Else it begins at the latest boundary since, and `skippedWindows` says how
 * many came and went between the two. A schedule that was set back to a boundary before the stored
 * start begins nothing anew.
 */
export function currentWindow(
  schedule: ResetSchedule,
  stored: UsageWindow,
  nowMs: number,
): UsageWindow & { readonly skippedWindows: number } {
  const boundary = stored.nextResetAtMs;
  if (boundary === null || boundary > nowMs) return { ...stored, skippedWindows: 0 };
  const start = Math.max(boundary, latestBoundary(schedule, boundary, nowMs));
  return {
    startMs: Math.max(start, stored.startMs),
    nextResetAtMs: nextResetAt(schedule, boundary, nowMs),
    skippedWindows: skippedWindows(schedule, boundary, nowMs),
  };
}

/** The last regular boundary up to and including `nowMs`, counted from the boundary `fromMs`. */
function latestBoundary(schedule: ResetSchedule, fromMs: number, nowMs: number): number {
  if (schedule.periodicReset === 'weekly') return mondayAt(weekOf(nowMs));
  if (schedule.periodicReset === 'monthly') return firstOfMonth(monthOf(nowMs));
  if (schedule.periodicResetDays === null) return fromMs;
  const periodMs = schedule.periodicResetDays * dayMs;
  const start = startOfDay(fromMs);
  return start + Math.floor((nowMs - start) / periodMs) * periodMs;
}

/**
 * How many boundaries lie after `boundaryMs` (the one being applied) up to and including `nowMs`:
 * windows that came and went while nothing was running.
 */
export function skippedWindows(schedule: ResetSchedule, boundaryMs: number, nowMs: number): number {
  if (nowMs <= boundaryMs) return 0;
  if (schedule.periodicReset === 'weekly') return weekOf(nowMs) - weekOf(boundaryMs);
  if (schedule.periodicReset === 'monthly') return monthOf(nowMs) - monthOf(boundaryMs);
  if (schedule.periodicResetDays === null) return 0;
  return Math.floor((nowMs - startOfDay(boundaryMs)) / (schedule.periodicResetDays * dayMs));
}

/** Midnight UTC of the day that `ms` lies in. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

function weekOf(ms: number): number {
  return Math.floor((ms - firstMondayMs) / weekMs);
}

function mondayAt(week: number): number {
  return firstMondayMs + week * weekMs;
}

/** Months since year 0. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function firstOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1);
}
