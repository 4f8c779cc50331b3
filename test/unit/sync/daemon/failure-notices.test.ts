/** Checks that a lasting failure is reported once, however it is found. */
import { expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import { RepeatFilter } from '../../../../src/sync/loop/repeat-filter.ts';
import { Unreachable } from '../../../../src/sync/server/refusal.ts';

const away = (words: string, reason = 'nothing listens there'): Unreachable =>
  new Unreachable(`cannot reach it: ${words} failed, ${reason}`, {
    reason: `http://it: ${reason}`,
  });

it('reports an unreachable server once, whichever request finds it, and again when the reason changes', () => {
  const reported = new RepeatFilter();
  const failures = [
    away('GET /snapshot'),
    away('PUT /leases/team'),
    away('GET /snapshot'),
    away('PUT /leases/team', 'it keeps answering 503'),
    new Failure('unreachable', 'Git is away'),
    away('GET /snapshot'),
  ];
  expect(failures.map((failure) => reported.isNewFailure(failure))).toEqual([
    true,
    false,
    false,
    true,
    true,
    true,
  ]);
});
