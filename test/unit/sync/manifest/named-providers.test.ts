/** Tests where a slug without a declared provider is a fault, and what a config may name. */
import { describe, expect, it } from 'vitest';
import { readSource } from '../../../../src/sync/desired/desired.ts';
import {
  inSupport,
  manifest,
  placesOf,
  readTexts,
  resourcesOf,
  sourceOf,
  support,
} from '../../../support/sync/manifests.ts';

const config = (body: string, metadata = inSupport): string =>
  manifest('Config', 'routing', `config: ${body}`, metadata);
const integration = manifest('Integration', 'ai', 'aiProviderId: openai', '');
const provider = (name: string, more = ''): string =>
  manifest('Provider', name, `integrationRef: ai${more}`, inSupport);
const external = (kind: string, name: string, spec: string, metadata = ''): string =>
  manifest('External', name, `kind: ${kind}\n${spec}`, metadata);
const texts = (...manifests: string[]): Record<string, string> => ({
  'a.yaml': manifests.join('---\n'),
});

describe('a provider that no manifest declares', () => {
  it('is a fault in a declared workspace, at the position of the name and with the one that is meant', async () => {
    const body = '{targets: [{provider: "@small"}, {provider: "@smal"}]}';
    const read = await readTexts({
      'c.yaml': config(body),
      ...texts(support, integration, provider('small')),
    });
    expect(read.faults).toEqual([
      {
        position: { file: 'c.yaml', line: 5, column: 55 },
        code: 'unknown-provider',
        message:
          'spec.config.targets[1].provider names the provider "@smal", which workspace support does not declare',
        fix: 'did you mean "@small"?',
      },
    ]);
  });

  it.each([
    ['a virtual key', '{virtual_key: smal}'],
    ['a model', '{override_params: {model: "@smal/gpt-4o"}}'],
    ['an absent provider', '{provider: "@gone"}'],
  ])('is found as %s', async (_, body) => {
    const gone = manifest('Provider', 'gone', '', inSupport).replace(
      'spec:',
      'state: absent\nspec:',
    );
    const read = await readTexts({
      'c.yaml': config(body),
      ...texts(support, integration, provider('small'), gone.replace(/spec:[\s\S]*/, '')),
    });
    expect(placesOf(read)).toEqual([expect.stringMatching(/^c\.yaml:5:\d+ unknown-provider$/)]);
  });

  it.each([
    ['the workspace is an External', [external('Workspace', 'support', 'slug: ws-support')]],
    [
      'an External names a provider by id',
      [support, external('Provider', 'x', 'id: y', inSupport)],
    ],
    ['an External has the slug', [support, external('Provider', 'x', 'slug: own', inSupport)]],
  ])('is left to the plan when %s', async (_, manifests) => {
    const read = await readTexts(texts(...manifests, config('{provider: "@own"}')));
    expect(read.faults).toBeUndefined();
  });

  it('is left to the plan in a config of the organisation, and when an id names it', async () => {
    const id = '018f4f3c-0000-7000-8000-000000000000';
    const read = await readTexts(
      texts(support, config('{provider: "@any"}', ''), config(`{provider: "@${id}"}`)),
    );
    expect(read.faults).toBeUndefined();
  });

  it('waits while a file is unreadable that may declare it', async () => {
    const files = sourceOf({ ...texts(support, config('{provider: "@own"}')), 'b.yaml': 'a: [' });
    const environment = () => undefined;
    const readValue = async () => undefined;
    const read = await readSource(files, { environment, readValue, requireSecrets: false });
    expect(read.set.faults.map(({ fault }) => fault.position.file)).toEqual(['b.yaml']);
    expect(read.waiting.map(({ fault }) => fault.code)).toEqual(['unread-reference']);
  });
});

describe('a provider that a manifest declares', () => {
  it.each([
    ['by the name of its manifest', provider('own'), 'own'],
    ['by its slug', provider('x', '\nslug: own'), 'own'],
    ['by a slug of an earlier version', provider('x', '\nname: Our own'), 'our-own-0a1b2c'],
  ])('is named %s, and precedes the config', async (_, declared, slug) => {
    const read = await readTexts(
      texts(support, integration, declared, config(`{provider: "@${slug}"}`)),
    );
    const found = resourcesOf(read).find(({ identity }) => identity.kind === 'Config');
    expect(found?.references.map(({ kind }) => kind)).toEqual(['Workspace', 'Provider']);
  });

  it('is not named by the name of its manifest when it has another slug', async () => {
    const declared = provider('own', '\nslug: other');
    const read = await readTexts(
      texts(support, integration, declared, config('{provider: "@own"}')),
    );
    expect(placesOf(read)).toEqual([expect.stringContaining('unknown-provider')]);
  });

  it('is referred to by providerRef at every depth', async () => {
    const body = '{targets: [{providerRef: own}, {targets: [{providerRef: own, weight: 1}]}]}';
    const read = await readTexts(texts(support, integration, provider('own'), config(body)));
    const found = resourcesOf(read).find(({ identity }) => identity.kind === 'Config');
    const reference = { $ref: 'Provider/support/own' };
    expect(found?.spec.config).toEqual({
      targets: [{ provider: reference }, { targets: [{ provider: reference, weight: 1 }] }],
    });
  });

  it('cannot be named twice in one target, or from another workspace', async () => {
    const twice = '{provider: "@own", providerRef: own}';
    const both = await readTexts(texts(support, integration, provider('own'), config(twice)));
    expect(placesOf(both)).toEqual([expect.stringContaining('duplicate-field')]);
    const sales = support.replace('support', 'sales');
    const beyond = config('{providerRef: support/own}', ', workspace: sales');
    const read = await readTexts(texts(support, sales, integration, provider('own'), beyond));
    expect(placesOf(read)).toEqual([expect.stringContaining('out-of-reach')]);
  });
});
