/** Tests saved plans: intact, authentic, within their lifetime, and without secrets. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import {
  assertApplicable,
  assertGenuine,
  assertUnchanged,
  parseSavedPlan,
  savedPlanText,
} from '../../../../src/sync/review/saved-plan.ts';
import type { SnapshotRead } from '../../../../src/sync/server/live.ts';
import { ModelServer, owner, setOf, want } from '../../../support/sync/sync-model.ts';

const model = new ModelServer();
const wanted = setOf([
  want('Workspace', 'w'),
  want(
    'McpIntegration',
    'w/crm',
    { configurations: { headers: { authorization: { $secret: 'env:X', fingerprint: '' } } } },
    { secrets: { '/configurations/headers/authorization': 'canary-value' } },
  ),
]);
const read = model.read();
const plan = model.plan(wanted);
const terms = {
  paths: ['.'],
  environment: null,
  workspace: [],
  delete: [],
  allowDeletes: null,
  noPrune: false,
  takeOwnership: false,
  evenIfSuspended: false,
  acceptHistory: false,
};
const day = 86_400_000;
const options = {
  server: 'https://gw',
  terms,
  warnings: [],
  impacts: new Map(),
  now: 0,
  validMs: day,
};
const text = savedPlanText(plan, read, options);
const here = { owner, server: 'https://gw', now: 1, name: 'x.plan', planAgain: () => 'plan anew' };

function withKey(key: string | null): SnapshotRead {
  return { ...read, snapshot: { ...read.snapshot, fingerprint_key: key } };
}

function refusalOf(check: () => unknown): Failure | undefined {
  try {
    check();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  return undefined;
}

function judge(given: string): void {
  const saved = parseSavedPlan(given, 'x.plan');
  assertApplicable(saved, here);
  assertGenuine(saved, read, 'x.plan');
  assertUnchanged(saved, { plan, read }, here);
}

describe('a saved plan', () => {
  it('is one line, the same for the same plan, with fingerprints and no value', () => {
    expect(savedPlanText(model.plan(wanted), read, options)).toBe(text);
    expect(text.split('\n')).toHaveLength(2);
    expect(text).not.toContain('canary');
    const { saved } = JSON.parse(text);
    const marks = saved.marks.changes['McpIntegration/w/crm'].secrets;
    expect(Object.keys(marks)).toEqual(['/configurations/headers/authorization env:X']);
    expect(() => judge(text)).not.toThrow();
  });

  it('is created and verified only by accounts that may write for the owner', () => {
    expect(refusalOf(() => savedPlanText(plan, withKey(null), options))?.message).toContain(
      'saving a plan needs credentials that may apply it',
    );
    const saved = parseSavedPlan(text, 'x.plan');
    for (const key of [null, Buffer.alloc(32, 2).toString('base64')]) {
      const refusal = refusalOf(() => assertGenuine(saved, withKey(key), 'x.plan'));
      expect(refusal?.kind).toBe('invalidInput');
    }
  });

  it('expires at its time, to the millisecond', () => {
    const saved = parseSavedPlan(text, 'x.plan');
    expect(() => assertApplicable(saved, { ...here, now: day - 1 })).not.toThrow();
    const refusal = refusalOf(() => assertApplicable(saved, { ...here, now: day }));
    expect(refusal?.kind).toBe('stale');
    expect(refusal?.message).toBe(
      `x.plan was made at 1970-01-01T00:00:00.000Z and was to be applied until 1970-01-02T00:00:00.000Z; nothing was written.
To plan again: plan anew`,
    );
  });

  it('rejects any changed character, with a message for the user', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: text.length - 2 }),
        fc.string({ minLength: 0, maxLength: 2 }),
        (at, put) => {
          const altered = text.slice(0, at) + put + text.slice(at + 1);
          const means = (given: string): unknown => {
            try {
              return JSON.parse(given);
            } catch {
              return undefined;
            }
          };
          const isSame = JSON.stringify(means(altered)) === JSON.stringify(means(text));
          expect(refusalOf(() => judge(altered)) === undefined).toBe(isSame);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('rejects a plan that was truncated anywhere', () => {
    fc.assert(
      fc.property(fc.nat({ max: text.length - 2 }), (length) => {
        const refusal = refusalOf(() => judge(text.slice(0, length)));
        expect(refusal?.message).toContain(
          'x.plan is not a complete plan: it is cut off or damaged',
        );
      }),
      { numRuns: 100 },
    );
  });
});
