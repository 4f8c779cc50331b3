/** Tests which limits apply to a request, and their windows. */
import { describe, expect, it } from 'vitest';
import {
  type LimitSubject,
  limitsOfPolicy,
  limitsOfRates,
  type PolicyTerms,
  type RequestFacts,
} from '../../../src/ledger/request-limits.ts';

const now = Date.parse('2026-11-22T10:30:15.250Z');
const subject: LimitSubject = {
  organisationId: 'o',
  subjectKind: 'api_key',
  subjectId: 'k',
  label: 'API key ci',
};

describe('rate limits', () => {
  it.each([
    ['rps', '2026-11-22T10:30:15.000Z', '2026-11-22T10:30:16.000Z'],
    ['rpm', '2026-11-22T10:30:00.000Z', '2026-11-22T10:31:00.000Z'],
    ['rph', '2026-11-22T10:00:00.000Z', '2026-11-22T11:00:00.000Z'],
    ['rpd', '2026-11-22T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
    ['rpw', '2026-11-16T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
  ] as const)(
    'holds a limit of %s in the calendar window that contains the current time',
    (unit, start, end) => {
      const terms = { ...subject, limits: [{ type: 'requests', unit, value: 3 }] } as const;
      expect(limitsOfRates(terms, '', now, true)).toMatchObject([
        {
          windowStart: Date.parse(start),
          endsAt: Date.parse(end),
          limitUnits: 3,
          isRate: true,
          valueKey: `requests ${unit}`,
        },
      ]);
    },
  );
});

describe('a policy', () => {
  const facts: RequestFacts = new Map([
    ['api_key', ['4711', 'ci']],
    ['model', ['@openai/gpt-5']],
    ['metadata.team', ['search']],
  ]);
  const met = (conditions: PolicyTerms['conditions'], groupBy: PolicyTerms['groupBy'] = []) =>
    limitsOfPolicy(
      {
        conditions,
        groupBy,
        workspaceId: null,
        terms: { ...subject, limits: [{ type: 'requests', unit: 'rpm', value: 3 }] },
      },
      facts,
      now,
      true,
    );

  it.each([
    ['any value', [{ key: 'api_key', value: '*' }], true],
    ['either name of a key', [{ key: 'api_key', value: 'ci' }], true],
    ['one of a list', [{ key: 'model', value: ['@x/y', '@openai/*'] }], true],
    ['another value', [{ key: 'model', value: '@anthropic/*' }], false],
    ['a property that the request has not', [{ key: 'metadata.user', value: '*' }], false],
    ['excluded values', [{ key: 'api_key', value: '*', excludes: ['ci'] }], false],
    [
      'all conditions',
      [
        { key: 'api_key', value: '*' },
        { key: 'model', value: 'x' },
      ],
      false,
    ],
  ] as const)('applies to %s', (_, conditions, isMet) => {
    expect(met(conditions as unknown as PolicyTerms['conditions'])).toHaveLength(isMet ? 1 : 0);
  });

  it('counts each combination of group values separately', () => {
    const groups = [{ key: 'metadata.team' }, { key: 'api_key' }];
    expect(met([{ key: 'api_key', value: '*' }], groups)[0]!.valueKey).toBe(
      'metadata.team:search,api_key:4711 requests rpm',
    );
  });

  it('counts long values separately that differ only beyond the column length', () => {
    const keyOf = (team: string) =>
      limitsOfPolicy(
        {
          conditions: [],
          groupBy: [{ key: 'metadata.team' }],
          workspaceId: null,
          terms: { ...subject, limits: [{ type: 'requests', unit: 'rpm', value: 3 }] },
        },
        new Map([['metadata.team', [team]]]),
        now,
        true,
      )[0]!.valueKey;
    const long = 'x'.repeat(1_000);
    expect(keyOf(`${long}a`)).not.toBe(keyOf(`${long}b`));
    expect(keyOf(`${long}a`).length).toBeLessThanOrEqual(512);
  });
});
