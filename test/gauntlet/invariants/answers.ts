/** Judges the status of every answer: without a fault that explains it, nothing but the usual is correct. */
import type { Permit } from '../faults/fault.ts';
import type { Answer } from '../load/answer.ts';
import type { Aftermath, Invariant, TimedViolation } from './invariant.ts';

/** A fault may be felt for this long after everything runs again (docs/guides/operations.md). */
const recoveryMs = 10_000;

/** Answers that are neither usual nor explained by a fault at their time. */
function unexplained({ traffic, injections }: Aftermath): Answer[] {
  return traffic.answers.filter((answer) => {
    if (answer.isUsual) return false;
    return !injections.some(
      ({ kind, targetName, fromMs, healedMs }) =>
        fromMs <= answer.doneMs &&
        answer.sentMs <= healedMs + recoveryMs &&
        kind.permits.some((permit) => explains(permit, targetName, answer)),
    );
  });
}

function explains(
  { surfaces, statuses, isAtTarget }: Permit,
  targetName: string,
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
