/** Formats events of the sync loop for people and for programs. */

import { countsByKind } from '../../sync/report/summary.ts';
import { textReport } from '../../sync/report/text.ts';
import type { LoopEvent } from '../../sync/status/loop-event.ts';
import { cycleDocument } from './cycle-document.ts';

/** Whether a cycle or drift check found nothing to report. */
export function isQuiet(event: LoopEvent): boolean {
  if (event.kind === 'failure') return false;
  if (!event.isNews) return true;
  if (event.kind === 'drift') return false;
  const { plan, report, refusal } = event.result;
  const isIdle =
    report === null && refusal === null && plan.blocked.length + plan.faults.length === 0;
  return isIdle && plan.changes.length === 0;
}

/** Lines for people at `now` (ms since the epoch); empty when there is nothing to report. */
export function eventText(event: LoopEvent, now: number): string {
  if (isQuiet(event)) return '';
  const time = timeText(now);
  if (event.kind === 'cycle') return `\n${time}\n${textReport(event.result)}`;
  if (event.kind === 'drift') {
    const isOver = event.result.plan.changes.length === 0;
    const verdict = isOver
      ? `the server matches ${event.isVersionHeld ? 'the version applied last' : 'the source'} again`
      : 'others changed applied resources; the changes are reported and not reverted';
    return `\n${time}  ${verdict}\n${isOver ? '' : textReport(event.result)}`;
  }
  const then =
    event.retryAt === null
      ? 'what was applied last stays; save a correction to go on'
      : `trying again at ${timeText(event.retryAt)}`;
  return `\n${time}  ${event.failure.message}\n${then}\n`;
}

/** The event without its name and time, for `-o json`. */
export function eventDocument(event: LoopEvent): Record<string, unknown> {
  if (event.kind === 'failure') {
    const { kind, message } = event.failure;
    return { ending: kind, message, retryAt: momentText(event.retryAt) };
  }
  const document = { ...cycleDocument(event.result), counts: countsByKind(event.result) };
  return event.kind === 'drift' ? document : { ...document, retryAt: momentText(event.retryAt) };
}

/** Local time of day: `14:03:59`. */
export function timeText(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function momentText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
