/** Tests what `validate` finds wrong with guardrails that manifests name by slug or refer to. */
import { expect, it } from 'vitest';
import {
  inSupport,
  manifest,
  readTexts,
  resourcesOf,
  support,
} from '../../../support/sync/manifests.ts';

const toolGuard = manifest('Guardrail', 'tools', 'target: mcp_tools', '');
const modelGuard = manifest(
  'Guardrail',
  'models',
  'target: llm\nchecks: [{id: default.notNull}]\nactions: {}',
  '',
);
const config = (body: string): string =>
  manifest('Config', 'routing', `config: ${body}`, inSupport);

async function faultsOf(...manifests: string[]): Promise<string[]> {
  const read = await readTexts({ 'a.yaml': [support, ...manifests].join('---\n') });
  return (read.faults ?? []).map(({ code, message, fix }) => `${code}: ${message}; ${fix}`);
}

it.each([
  ['config.before_request_hooks[0].id', config('{before_request_hooks: [{id: no-such}]}')],
  ['config.targets[0].input_guardrails[0]', config('{targets: [{input_guardrails: [no-such]}]}')],
  [
    'mcpInputGuardrails[0]',
    manifest('WorkspaceGuardrails', 'default', 'mcpInputGuardrails: [no-such]', inSupport),
  ],
  [
    'outputGuardrails[0]',
    manifest('OrganisationDefaults', 'default', 'outputGuardrails: [no-such]', ''),
  ],
])('refuses a name that no guardrail can have at %s', async (place, text) => {
  expect(await faultsOf(text)).toEqual([
    `unknown-guardrail: spec.${place} names the guardrail "no-such", which is no slug of a guardrail (pg-…) and no id; declare the guardrail, or add an External for it, and refer to it by guardrailRef`,
  ]);
});

it('proposes the reference when a manifest has the name', async () => {
  const faults = await faultsOf(modelGuard, config('{before_request_hooks: [{id: models}]}'));
  expect(faults).toEqual([
    expect.stringContaining('write guardrailRef: models for the manifest of this name'),
  ]);
});

it('leaves slugs and ids to the plan, and takes the slug of an External', async () => {
  const external = manifest('External', 'theirs', 'kind: Guardrail\nslug: theirs-1');
  const id = '018f4f3c-0000-7000-8000-000000000000';
  const names = `{before_request_hooks: [{id: pg-a-0a1b2c}, {id: ${id}}, {id: theirs-1}]}`;
  expect(await faultsOf(external, config(names))).toEqual([]);
});

it('refers to guardrails from hooks by guardrailRef', async () => {
  const texts = [support, modelGuard, config('{before_request_hooks: [{guardrailRef: models}]}')];
  const found = resourcesOf(await readTexts({ 'a.yaml': texts.join('---\n') })).find(
    ({ identity }) => identity.kind === 'Config',
  );
  expect(found?.spec.config).toEqual({
    before_request_hooks: [{ id: { $ref: 'Guardrail/models' } }],
  });
});

it.each([
  ['a config', toolGuard, config('{before_request_hooks: [{guardrailRef: tools}]}'), 'llm'],
  [
    'a list for models',
    toolGuard,
    manifest(
      'WorkspaceGuardrails',
      'default',
      'inputGuardrails: [{guardrailRef: tools}]',
      inSupport,
    ),
    'llm',
  ],
  [
    'a list for tools',
    modelGuard,
    manifest('OrganisationDefaults', 'default', 'mcpInputGuardrails: [{guardrailRef: models}]', ''),
    'mcp_tools',
  ],
])('refuses a guardrail of the other target in %s', async (_, guardrail, text, target) => {
  expect(await faultsOf(guardrail, text)).toEqual([
    expect.stringMatching(new RegExp(`^out-of-reach: .*; name one with target: ${target}$`)),
  ]);
});
