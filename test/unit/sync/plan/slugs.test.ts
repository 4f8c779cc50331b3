/** Tests the slugs of planned resources, and the providers that configs name by slug. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import type { DesiredResource, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;

beforeEach(() => {
  server = new ModelServer();
});

const workspaces = [want('Workspace', 'support'), want('Workspace', 'sales')];
const integration = want('Integration', 'ai', { ai_provider_id: 'openai' });
const provider = (path: string, fields: Spec = {}, of = 'ai'): DesiredResource =>
  want('Provider', path, { integration_id: { $ref: `Integration/${of}` }, ...fields });
const config = (path: string, body: Spec, fields: Spec = {}): DesiredResource =>
  want('Config', path, { config: body, ...fields });
const reference = { provider: { $ref: 'Provider/support/main' } };

function plan(...resources: DesiredResource[]): Plan {
  return server.plan(setOf([...workspaces, integration, ...resources]));
}

function apply(...resources: DesiredResource[]): Plan {
  const made = plan(...resources);
  expect(made.blocked).toEqual([]);
  server.apply(made);
  expect(plan(...resources).changes).toEqual([]);
  return made;
}

function actions({ changes }: Plan): string[] {
  return changes.map(({ action, id }) => `${action} ${id}`);
}

describe('the slug of a resource whose manifest sets none', () => {
  it('is the name of the manifest', () => {
    apply(config('support/routing.eu', {}), provider('support/main'));
    expect(server.find('Config/support/routing.eu').slug).toBe('routing-eu');
    expect(server.find('Provider/support/main').slug).toBe('main');
    expect(server.find('Integration/ai').slug).toBe('ai');
  });

  it('contains the workspace, and then a number, when another resource has the name', () => {
    server.seed('Config', 'Other', { slug: 'routing-support' });
    apply(config('sales/routing', {}), config('support/routing', {}));
    expect(server.find('Config/sales/routing').slug).toBe('routing');
    expect(server.find('Config/support/routing').slug).toBe('routing-support-2');
  });

  it('is free in each workspace for providers', () => {
    apply(provider('sales/main'), provider('support/main'));
    expect(server.find('Provider/sales/main').slug).toBe('main');
    expect(server.find('Provider/support/main').slug).toBe('main');
  });

  it('stays as it is when the resource exists, was renamed, or the manifest no longer sets it', () => {
    const { id } = server.seed('Config', 'old', { slug: 'pc-old-123456', config: {} });
    server.apply(server.plan(setOf([config('old', {})]), { takeOwnership: true }));
    expect(server.find('Config/old')).toMatchObject({ id, slug: 'pc-old-123456' });
    apply(config('old', {}), config('written', {}, { slug: 'chosen' }));
    apply(config('old', {}), config('written', {}));
    expect(server.find('Config/written').spec.slug).toBe('chosen');
  });
});

describe('a changed slug', () => {
  it.each([
    [
      'Integration/ai',
      () => [want('Integration', 'ai', { ai_provider_id: 'openai', slug: 'new' })],
    ],
    ['Provider/support/main', () => [integration, provider('support/main', { slug: 'new' })]],
    ['Config/support/c', () => [integration, config('support/c', {}, { slug: 'new' })]],
  ])('is written in place for %s', (id, resources) => {
    const before = [integration, provider('support/main'), config('support/c', {})];
    apply(...before.slice(1));
    const others = before.filter(
      ({ identity }) => !resources().some((one) => one.identity.name === identity.name),
    );
    const changed = server.plan(setOf([...workspaces, ...others, ...resources()]));
    expect(actions(changed)).toEqual([`update ${id}`]);
  });

  it('is written before the configs and prompts that refer to the provider', () => {
    const prompt = want('Prompt', 'support/p', { virtual_key: reference.provider, string: 'x' });
    const users = [config('support/c', { targets: [reference] }), prompt];
    apply(provider('support/main'), ...users);
    const changed = plan(provider('support/main', { slug: 'new' }), ...users);
    expect(actions(changed)).toEqual([
      'update Provider/support/main',
      'update Config/support/c',
      'update Prompt/support/p',
    ]);
    expect(changed.changes[1]?.fields).toMatchObject([
      { path: '/config/targets/0/provider', from: '@main', to: reference.provider },
    ]);
  });

  it('is not needed when a provider is replaced, which configs that refer to it do not prevent', () => {
    const user = config('support/c', reference);
    const other = want('Integration', 'other', { ai_provider_id: 'anthropic' });
    apply(provider('support/main'), user, other);
    const replaced = apply(provider('support/main', {}, 'other'), user, other);
    expect(actions(replaced)).toEqual(['replace Provider/support/main']);
    expect(server.find('Provider/support/main').slug).toBe('main');
    expect(server.find('Config/support/c').spec.config).toEqual({ provider: '@main' });
  });
});

describe('a config that names a provider', () => {
  it('contains its slug, and prevents its deletion, also when the config changes', () => {
    apply(provider('support/main'), config('support/c', { targets: [reference] }));
    expect(server.find('Config/support/c').spec.config).toEqual({
      targets: [{ provider: '@main' }],
    });
    const { blocked } = plan(config('support/c', { provider: '@main' }));
    expect(blocked.map(({ id, reason }) => [id, reason])).toEqual([
      ['Provider/support/main', 'in-use'],
    ]);
  });

  it('does not change when a slug takes the place of a reference', () => {
    apply(provider('support/main'), config('support/c', reference));
    const { changes } = plan(provider('support/main'), config('support/c', { provider: '@main' }));
    expect(changes.flatMap(({ fields }) => fields)).toEqual([]);
  });

  it.each([
    ['@smal', 'did you mean "@small"?'],
    ['@something', 'declare a Provider with spec.slug: something'],
  ])('is blocked when no provider of its workspace has the slug: %s', (name, fix) => {
    const elsewhere = provider('sales/something');
    const { blocked } = plan(
      provider('support/small'),
      elsewhere,
      config('support/c', { provider: name }),
    );
    expect(blocked).toMatchObject([
      {
        id: 'Config/support/c',
        reason: 'unknown-provider',
        message: `it names the provider "${name}", which the workspace support does not have; ${fix}`,
      },
    ]);
  });

  it('is blocked when its provider has left the server', () => {
    const { id } = server.seed('Workspace', 'support', {});
    server.apply(server.plan(setOf([want('Workspace', 'support')]), { takeOwnership: true }));
    const live = server.seed('Provider', 'Own', { slug: 'own' }, id);
    const user = config('support/c', { provider: '@own' });
    const read = (): Plan => server.plan(setOf([want('Workspace', 'support'), user]));
    server.apply(read());
    expect(read().blocked).toEqual([]);
    server.remove(live.id);
    expect(read().blocked).toMatchObject([{ id: 'Config/support/c', reason: 'unknown-provider' }]);
  });

  it('needs the provider in any workspace if it belongs to the organisation', () => {
    expect(plan(provider('sales/main'), config('c', { provider: '@main' })).blocked).toEqual([]);
    expect(plan(provider('sales/main'), config('c', { provider: '@other' })).blocked).toMatchObject(
      [{ message: expect.stringContaining('which no workspace has') }],
    );
  });
});

it('finds the provider of an External in its own workspace only', () => {
  apply(provider('sales/main'), provider('support/main'));
  const identity = { kind: 'Provider', workspace: 'support', name: 'theirs' } as const;
  const position = { file: 'x.yaml', line: 1, column: 1 };
  const external = { identity, position, by: 'slug', lookup: 'main' } as const;
  const { resources } = server.live('platform', [external]);
  const found = resources.find((live) => live.identity.name === 'theirs');
  expect(found?.id).toBe(server.find('Provider/support/main').id);
});
