/** Computes when usage resets: the boundaries of a schedule and how many of them were missed. */

const msPerDay = 86_400_000;
const weekMs = 7 * msPerDay;
/** The epoch was a Thursday; the first Monday began four days later. */
const firstMondayMs = 4 * msPerDay;

/** At most one of the two is set; with neither, usage never resets automatically. */
export interface ResetSchedule {
  readonly periodicReset: 'weekly' | 'monthly' | null;
  /** 1 to 365. */
  readonly periodicResetDays: number | null;
}

/**
 * Returns the next boundary: Monday 00:00 UTC, the 1st 00:00 UTC, or a whole number of periods of N
 * days after the UTC day of `anchorMs`. Returns null when there is no schedule.
 *
 * The boundary is after both `nowMs` and the anchor, so a clock that steps back never yields a boundary
 * twice. The anchor is the boundary applied last, or the creation time; null means now.
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
  const periodMs = schedule.periodicResetDays * msPerDay;
  const start = startOfDay(anchor);
  return start + (Math.floor((after - start) / periodMs) + 1) * periodMs;
}

/** A period in which usage is counted. */
export interface UsageWindow {
  /** Its first millisecond, which also identifies the window of a subject. */
  readonly startMs: number;
  /** First millisecond after it; null when it never ends. */
  readonly nextResetAtMs: number | null;
}

/**
 * Returns the window that contains `nowMs`; `stored` is the window written last and is returned while
 * it lasts. Otherwise the window begins at the latest boundary, and `skippedWindows` counts the windows
 * between the two. If the schedule was moved back to a boundary before the stored start, the start is
 * kept.
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

/** The last regular boundary at or before `nowMs`, counted from the boundary `fromMs`. */
function latestBoundary(schedule: ResetSchedule, fromMs: number, nowMs: number): number {
  if (schedule.periodicReset === 'weekly') return mondayAt(weekOf(nowMs));
  if (schedule.periodicReset === 'monthly') return firstOfMonth(monthOf(nowMs));
  if (schedule.periodicResetDays === null) return fromMs;
  const periodMs = schedule.periodicResetDays * msPerDay;
  const start = startOfDay(fromMs);
  return start + Math.floor((nowMs - start) / periodMs) * periodMs;
}

/**
 * Counts the boundaries after `boundaryMs`, which is being applied, up to and including `nowMs`. These
 * are windows that began and ended while no process was running.
 */
export function skippedWindows(schedule: ResetSchedule, boundaryMs: number, nowMs: number): number {
  if (nowMs <= boundaryMs) return 0;
  if (schedule.periodicReset === 'weekly') return weekOf(nowMs) - weekOf(boundaryMs);
  if (schedule.periodicReset === 'monthly') return monthOf(nowMs) - monthOf(boundaryMs);
  if (schedule.periodicResetDays === null) return 0;
  return Math.floor((nowMs - startOfDay(boundaryMs)) / (schedule.periodicResetDays * msPerDay));
}

/** Midnight UTC of the day of `ms`. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / msPerDay) * msPerDay;
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
