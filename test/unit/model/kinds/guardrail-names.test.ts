/** Tests that every place where a spec names a guardrail is known. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  guardrailSlugForm,
  isGuardrailName,
} from '../../../../src/model/guardrails/guardrail-slug.ts';
import { guardrailNames, guardrailTargetAt } from '../../../../src/model/kinds/guardrail-names.ts';
import { type KindName, kindNames } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import { newId } from '../../../../src/model/wire/ids.ts';
import { makeSlug } from '../../../../src/model/wire/slug-forms.ts';

/** Members whose name contains `guardrail`, each with a name; flags name none. */
async function membersOf(kind: KindName): Promise<[string, unknown][]> {
  const schema = z.toJSONSchema(await loadSpecSchema(kind), {
    io: 'input',
    unrepresentable: 'any',
  });
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const text = JSON.stringify(property);
    if (!/guardrail/i.test(name) || text.includes('"boolean"')) return [];
    return [[name, text.includes('"array"') ? ['pg-x-0a1b2c'] : 'pg-x-0a1b2c']];
  });
}

describe('the places where a spec names a guardrail', () => {
  it.each(kindNames.filter((kind) => kind !== 'Config'))(
    'finds every name in a spec of %s',
    async (kind) => {
      const members = await membersOf(kind);
      const named = guardrailNames(kind, Object.fromEntries(members));
      expect(named.map(({ path }) => path[0]).toSorted()).toEqual(
        members.map(([name]) => name).toSorted(),
      );
    },
  );

  it('finds every name in the document of a Config', () => {
    const config = { before_request_hooks: [{ id: 'a' }], targets: [{ input_guardrails: ['b'] }] };
    expect(guardrailNames('Config', { config })).toEqual([
      { path: ['config', 'before_request_hooks', '0', 'id'], name: 'a' },
      { path: ['config', 'targets', '0', 'input_guardrails', '0'], name: 'b' },
    ]);
  });

  it.each([
    ['Config', ['config', 'input_guardrails', '0'], 'llm'],
    ['WorkspaceGuardrails', ['output_guardrails', '0'], 'llm'],
    ['WorkspaceGuardrails', ['mcp_output_guardrails', '0'], 'mcp_tools'],
    ['OrganisationDefaults', ['spec', 'mcpInputGuardrails', '0'], 'mcp_tools'],
    ['GuardrailMcpBinding', ['guardrail_id'], 'mcp_tools'],
  ] as const)('decides the target by the place: %s %j %s', (kind, path, target) => {
    expect(guardrailTargetAt(kind, path)).toBe(target);
  });
});

describe('isGuardrailName', () => {
  it.each(['No secrets!', 'a', '日本', 'a-b-c-d-e'])('accepts ids, and the slug of %s', (name) => {
    expect(isGuardrailName(makeSlug(guardrailSlugForm, name))).toBe(true);
    expect(isGuardrailName(newId())).toBe(true);
  });

  it.each(['no-secrets', 'pg-no-secrets', 'pg-', 'pc-a-0a1b2c', 'pg-toolong-0a1b2c'])(
    'refuses %s',
    (name) => {
      expect(isGuardrailName(name)).toBe(false);
    },
  );
});
