/** Tests which fields of stored documents are unknown, and that they fit into `extensions`. */
import { describe, expect, it } from 'vitest';
import { configFaults } from '../../../../src/model/configs/config-document.ts';
import { guardrailFaults } from '../../../../src/model/guardrails/guardrail-checks.ts';
import type { KindName } from '../../../../src/model/kinds/kinds.ts';
import {
  unknownDocumentFields,
  withExtensions,
} from '../../../../src/model/kinds/unknown-document-fields.ts';
import { mcpIntegrationFaults } from '../../../../src/model/mcp/mcp-configurations.ts';
import { integrationFaults } from '../../../../src/model/providers/integration-faults.ts';

type Spec = Record<string, unknown>;
const limits = { rootMax: null, conditionalRootMax: null, nestedMax: null };
const check = { id: 'default.contains', parameters: { words: ['a'], operator: 'any' } };

/** Each spec with the paths of its unknown fields. */
const documents: readonly (readonly [KindName, Spec, readonly string[]])[] = [
  [
    'Config',
    {
      config: {
        strategy: { mode: 'fallback', mod: 1 },
        inputGuardrails: ['x'],
        extensions: { mine: 1 },
        targets: [
          { provider: 'openai', wieght: 0.5, retry: { attempts: 1, atempts: 2 } },
          {
            input_guardrails: ['slug', { contains: { ...check.parameters, wrds: [] }, dny: true }],
            before_request_hooks: [{ id: 'x', dney: true, checks: [{ ...check, nme: 'x' }] }],
          },
        ],
      },
    },
    [
      'config.strategy.mod',
      'config.inputGuardrails',
      'config.targets.0.retry.atempts',
      'config.targets.0.wieght',
      'config.targets.1.input_guardrails.1.dny',
      'config.targets.1.input_guardrails.1.contains.wrds',
      'config.targets.1.before_request_hooks.0.dney',
      'config.targets.1.before_request_hooks.0.checks.0.nme',
    ],
  ],
  ['Config', { config: { extensions: 5, note: 'x' } }, ['config.extensions', 'config.note']],
  [
    'Guardrail',
    {
      checks: [{ ...check, parameters: { ...check.parameters, wrds: ['b'] } }],
      actions: { deny: true, asnyc: true },
    },
    ['actions.asnyc', 'checks.0.parameters.wrds'],
  ],
  [
    'Integration',
    {
      ai_provider_id: 'openai',
      configurations: { customHost: 'https://a.example' },
      models: [
        {
          slug: 'm',
          enabled: true,
          configurations: { custm: 1 },
          pricing_config: { pay_as_you_go: { request_token: { prise: 1 } } },
        },
      ],
    },
    [
      'configurations.customHost',
      'models.0.configurations.custm',
      'models.0.pricing_config.pay_as_you_go.request_token.prise',
    ],
  ],
  [
    'McpIntegration',
    { configurations: { headers: { 'x-a': 'b' }, heders: { 'x-c': 'd' } } },
    ['configurations.heders'],
  ],
];

function faultsOf(kind: KindName, spec: Spec): unknown[] {
  if (kind === 'Config') return configFaults(spec.config as Spec, limits, []);
  if (kind === 'Guardrail') return guardrailFaults(spec, 'llm', []);
  if (kind === 'Integration') return integrationFaults(spec, []);
  return mcpIntegrationFaults(spec, []);
}

describe.each(documents)('a stored %s', (kind, spec, unknown) => {
  it('has its unknown fields listed by path', () => {
    const paths = unknownDocumentFields(kind, spec).map(({ path }) => path.join('.'));
    expect(paths.toSorted()).toEqual([...unknown].toSorted());
  });

  it('is valid with its unknown fields in extensions, which keep their values', () => {
    expect(faultsOf(kind, spec)).not.toEqual([]);
    const moved = unknownDocumentFields(kind, spec).map(({ path }) => path);
    const tidy = withExtensions(spec, moved);
    expect(faultsOf(kind, tidy)).toEqual([]);
    expect(unknownDocumentFields(kind, tidy)).toEqual([]);
    const values = (value: unknown): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value).flatMap(values) : [value];
    expect(values(tidy).toSorted()).toEqual(values(spec).toSorted());
  });
});

it.each(['Config', 'Guardrail', 'Integration', 'McpIntegration', 'Workspace'] as const)(
  'finds nothing in a %s without documents or with values of other types',
  (kind) => {
    for (const value of [undefined, null, 5, 'text', [], [null]]) {
      const spec = { config: value, checks: value, actions: value, configurations: value };
      expect(unknownDocumentFields(kind, { ...spec, models: value })).toEqual([]);
    }
  },
);
