/** Tests which providers a config document names, and where. */
import { expect, it } from 'vitest';
import { providerReferences } from '../../../../src/model/configs/provider-references.ts';

function namedIn(document: unknown): string[] {
  return providerReferences(document).map(({ path, provider }) => `${path.join('.')}: ${provider}`);
}

it('finds providers by @slug and as virtual keys, at every depth', () => {
  const document = {
    strategy: { mode: 'fallback' },
    targets: [
      { provider: '@one' },
      { targets: [{ virtual_key: 'two' }, { virtual_key: '@three' }] },
      { provider: '@four', virtual_key: 'unused' },
    ],
  };
  expect(namedIn(document)).toEqual([
    'targets.0.provider: one',
    'targets.1.targets.0.virtual_key: two',
    'targets.1.targets.1.virtual_key: three',
    'targets.2.provider: four',
  ]);
});

it('finds a provider before a model only where nothing else determines the provider', () => {
  const override_params = { model: '@one/gpt-4o' };
  expect(namedIn({ override_params })).toEqual(['override_params.model: one']);
  expect(namedIn({ default_params: { model: '@two/m' } })).toEqual(['default_params.model: two']);
  expect(namedIn({ override_params, targets: [{}, {}] })).toEqual(['override_params.model: one']);
  expect(namedIn({ provider: 'workers-ai', override_params: { model: '@cf/meta/llama' } })).toEqual(
    [],
  );
  expect(namedIn({ override_params, targets: [{ provider: 'openai' }] })).toEqual([]);
  expect(namedIn({ override_params: { model: 'm' }, default_params: { model: '@a/m' } })).toEqual(
    [],
  );
});

it.each([
  { provider: 'openai' },
  { passthrough: true, override_params: { model: '@one/m' } },
  { provider: { $ref: '' } },
  { targets: 'none' },
  null,
])('finds nothing in %j', (document) => {
  expect(namedIn(document)).toEqual([]);
});
