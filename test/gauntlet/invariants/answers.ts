/** Judges the status of every answer: without a fault that explains it, nothing but the usual is correct. */
import type { Permit } from '../faults/fault.ts';
import { databaseAway } from '../faults/permits.ts';
import type { Answer } from '../load/answer.ts';
import type { Aftermath, Invariant, TimedViolation } from './invariant.ts';

/** A fault may be felt for this long after everything runs again (docs/guides/operations.md). */
const recoveryMs = 10_000;

/** Answers that are neither usual nor explained by a fault, or by a stall of the run, at their time. */
function unexplained({ traffic, injections, stalls }: Aftermath): Answer[] {
  return traffic.answers.filter((answer) => {
    if (answer.isUsual) return false;
    const isDuring = (fromMs: number, toMs: number): boolean =>
      fromMs <= answer.doneMs && answer.sentMs <= toMs + recoveryMs;
    const isOfFault = injections.some(
      ({ kind, targetName, fromMs, healedMs }) =>
        isDuring(fromMs, healedMs) &&
        kind.permits.some((permit) => explains(permit, targetName, answer)),
    );
    if (isOfFault || !stalls.some(({ fromMs, toMs }) => isDuring(fromMs, toMs))) return !isOfFault;
    return !databaseAway.some((permit) => explains(permit, null, answer));
  });
}

function explains(
  { surfaces, statuses, isAtTarget }: Permit,
  targetName: string | null,
  { surface, status, place }: Answer,
): boolean {
  if (isAtTarget && place !== targetName) return false;
  return surfaces.includes(surface) && statuses.includes(status);
}

function describe({
  surface,
  load,
  place,
  status,
  detail,
  sentMs,
  doneMs,
}: Answer): TimedViolation {
  const line =
    `${surface} of ${load} at ${place ?? 'the control planes'}: ${status} ${detail}, ` +
    `sent at ${new Date(sentMs).toISOString()}, ${doneMs - sentMs} ms`;
  return { line, fromMs: sentMs, toMs: doneMs };
}

const having =
  (fits: (status: number) => boolean): Invariant['check'] =>
  async (aftermath) =>
    unexplained(aftermath)
      .filter(({ status }) => fits(status))
      .map(describe);

const refusals: readonly number[] = [401, 403, 412, 429];

export const answerInvariants: readonly Invariant[] = [
  {
    name: '5xx that should not be',
    document: 'docs/guides/operations.md, When something is down',
    check: having((status) => status >= 500),
  },
  {
    name: 'false 401, 403, 412 or 429',
    document: 'docs/guides/operations.md, When something is down',
    check: having((status) => refusals.includes(status)),
  },
  {
    name: 'other answers that should not be',
    document: 'docs/guides/operations.md, When something is down',
    check: having((status) => status < 500 && !refusals.includes(status)),
  },
];
