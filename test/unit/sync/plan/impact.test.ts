/**
 * Tests the impact of a plan: all direct and indirect users of the changed resources, and nothing
 * else.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findAffected, type Impacts, summarizeImpact } from '../../../../src/sync/plan/impact.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { markdownReport } from '../../../../src/sync/report/markdown.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import {
  type DesiredResource,
  identityKey,
  type Spec,
} from '../../../../src/sync/resources/resource-set.ts';
import { forTerminal } from '../../../../src/terminal-text.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

const ref = (key: string): Spec => ({ $ref: key });
const config = (name: string, guardrails: readonly string[], fields: Spec = {}) =>
  want('Config', `w/${name}`, {
    config: { input_guardrails: guardrails.map((one) => ref(`Guardrail/w/${one}`)), ...fields },
  });
const key = (name: string, by: string | null, fields: Spec = {}) =>
  want('ApiKey', `w/${name}`, {
    type: 'workspace',
    sub_type: 'service',
    scopes: ['logs.view'],
    ...fields,
    ...(by === null ? {} : { defaults: { config_id: ref(`Config/w/${by}`) } }),
  });
const guardrail = (name: string, fields: Spec = {}) =>
  want('Guardrail', `w/${name}`, { checks: [], ...fields });

/** The plan from the first to the second, for a server that has applied the first. */
function planFrom(before: readonly DesiredResource[], after: readonly DesiredResource[]): Plan {
  const server = new ModelServer();
  server.apply(server.plan(setOf(before)));
  return server.plan(setOf(after));
}

function reached(plan: Plan): Record<string, string[]> {
  const reach = [...findAffected(plan)];
  return Object.fromEntries(
    reach.map(([id, all]) => [id, all.map(({ identity }) => identityKey(identity))]),
  );
}

const workspace = want('Workspace', 'w');
const common = [workspace, config('a', ['g']), config('b', []), key('one', 'a'), key('two', 'b')];

describe('the impact of a change', () => {
  it('includes direct and indirect users', () => {
    const plan = planFrom([...common, guardrail('g')], [...common, guardrail('g', { deny: true })]);
    expect(reached(plan)).toEqual({ 'Guardrail/w/g': ['ApiKey/w/one', 'Config/w/a'] });
  });

  it('is the key itself for a key, the contents for a workspace, nothing for a new resource', () => {
    const before = [...common, guardrail('g')];
    const others = before.filter((one) => one !== workspace && one.identity.name !== 'one');
    const after = [
      ...others,
      want('Workspace', 'w', { description: 'x' }),
      key('one', 'a', { description: 'x' }),
      guardrail('fresh'),
    ];
    expect(reached(planFrom(before, after))).toEqual({
      'ApiKey/w/one': ['ApiKey/w/one'],
      'Workspace/w': ['ApiKey/w/one', 'ApiKey/w/two', 'Config/w/a', 'Config/w/b', 'Guardrail/w/g'],
    });
  });

  it('covers the old and the new subjects of a policy, and the workspace when it names none', () => {
    const policy = (conditions: Spec[]) =>
      want('UsageLimitPolicy', 'w/p', { type: 'cost', credit_limit: 1, conditions });
    const of = (name: string) => policy([{ key: 'api_key', value: ref(`ApiKey/w/${name}`) }]);
    const before = [...common, guardrail('g')];
    expect(reached(planFrom([...before, of('one')], [...before, of('two')]))).toEqual({
      'UsageLimitPolicy/w/p': ['ApiKey/w/one', 'ApiKey/w/two'],
    });
    const all = reached(planFrom(before, [...before, policy([])]));
    expect(all['UsageLimitPolicy/w/p']).toContain('ApiKey/w/two');
  });

  it('follows an integration to its servers, and does not return through other resources', () => {
    const integration = (url: string) => want('McpIntegration', 'w/crm', { url });
    const server = want('McpServer', 'w/s', { mcp_integration_id: ref('McpIntegration/w/crm') });
    const before = [workspace, integration('https://a.example.com'), server];
    const plan = planFrom(before, [workspace, integration('https://b.example.com'), server]);
    expect(reached(plan)).toEqual({ 'McpIntegration/w/crm': ['McpServer/w/s'] });
  });

  it('is empty when only the record of the last apply changes', () => {
    const server = new ModelServer();
    server.apply(server.plan(setOf([...common, guardrail('g')])));
    const stored = server.find('Guardrail/w/g');
    stored.spec.deny = true;
    const plan = server.plan(setOf([...common, guardrail('g', { deny: true })]));
    expect(plan.changes.map(({ id }) => id)).toEqual(['Guardrail/w/g']);
    expect(reached(plan)).toEqual({});
  });

  it('lists each user once for shared paths, and is absent for an empty plan', () => {
    const before = [...common, guardrail('g')];
    expect(findAffected(planFrom(before, before)).size).toBe(0);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 }))), (pairs) => {
        const users = pairs.map(([name, by], at) => key(`k${at}`, `c${(name + by) % 4}`));
        const configs = [0, 1, 2, 3].map((at) => config(`c${at}`, ['g']));
        const all = [workspace, guardrail('g'), ...configs, ...users];
        const plan = planFrom(all, [
          ...all.filter((one) => one.identity.name !== 'g'),
          guardrail('g', { deny: true }),
        ]);
        expect(reached(plan)['Guardrail/w/g']).toHaveLength(4 + pairs.length);
      }),
      { numRuns: 20 },
    );
  });
});

describe('the report of an impact', () => {
  const plan = planFrom([...common, guardrail('g')], [...common, guardrail('g', { deny: true })]);
  const reported = (lastUses: ReadonlyMap<string, string | null>) => {
    const impacts: Impacts = new Map(
      [...findAffected(plan)].map(([id, all]) => [id, summarizeImpact(all, lastUses)]),
    );
    const displayed = { plan, impacts, report: null, declined: false, refusal: null, warnings: [] };
    return {
      text: forTerminal(textReport(displayed), { color: false }),
      markdown: markdownReport(displayed),
      change: (planDocument(plan, [], impacts).changes as { impact: unknown }[])[0],
    };
  };
  const id = plan.live.get('ApiKey/w/one')!.id;

  it('renders as text, Markdown and JSON, with the latest use', () => {
    const { text, markdown, change } = reported(new Map([[id, '2026-11-21T22:00:00.000Z']]));
    const line =
      'reaches 1 config, 1 API key; last used 2026-11-21T22:00:00.000Z by ApiKey/w/one\n';
    expect(text).toContain(`    ${line}`);
    expect(markdown).toContain(`\n  ${line}`);
    expect(change).toMatchObject({
      impact: {
        reached: {
          Config: { count: 1, names: ['Config/w/a'] },
          ApiKey: { count: 1, names: ['ApiKey/w/one'] },
        },
        lastUsedAt: '2026-11-21T22:00:00.000Z',
        lastUsedBy: 'ApiKey/w/one',
        keysAsked: 1,
      },
    });
  });

  it('states what was never used, and what is unknown', () => {
    expect(reported(new Map([[id, null]])).text).toContain('1 API key; never used\n');
    expect(reported(new Map()).text).toContain('1 API key; their last use is unknown\n');
  });

  it('lists a bounded number of names, however much is affected', () => {
    const keys = Array.from({ length: 300 }, (_, at) => key(`k${at}`, 'a'));
    const before = [workspace, config('a', []), ...keys];
    const large = planFrom(before, [workspace, config('a', [], { retry: {} }), ...keys]);
    const impacts = new Map(
      [...findAffected(large)].map(([change, all]) => [change, summarizeImpact(all, new Map())]),
    );
    const [change] = planDocument(large, [], impacts).changes as {
      impact: { reached: { ApiKey: { count: number; names: string[] } } };
    }[];
    expect(change?.impact.reached.ApiKey.count).toBe(300);
    expect(change?.impact.reached.ApiKey.names).toHaveLength(50);
  });
});
