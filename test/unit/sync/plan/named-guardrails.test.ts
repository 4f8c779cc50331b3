/** Tests that a plan knows the guardrails which resources name by slug or id. */
import { beforeEach, expect, it } from 'vitest';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import type { DesiredResource, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;
let support: string;

beforeEach(() => {
  server = new ModelServer();
  support = server.seed('Workspace', 'support', {}).id;
  server.seed('Workspace', 'sales', {});
  server.apply(server.plan(setOf(workspaces), { takeOwnership: true }));
});

const workspaces = [want('Workspace', 'support'), want('Workspace', 'sales')];
const config = (body: Spec): DesiredResource => want('Config', 'support/c', { config: body });

function plan(...resources: DesiredResource[]): Plan {
  return server.plan(setOf([...workspaces, ...resources]));
}

function messagesOf({ blocked }: Plan): string[] {
  return blocked.map(({ id, reason, message }) => `${id} ${reason}: ${message}`);
}

it.each([
  ['Config/support/c', config({ before_request_hooks: [{ id: 'pg-none-0a1b2c' }] })],
  ['Config/support/c', config({ targets: [{ output_guardrails: ['pg-none-0a1b2c'] }] })],
  [
    'WorkspaceGuardrails/support/default',
    want('WorkspaceGuardrails', 'support/default', { mcp_input_guardrails: ['pg-none-0a1b2c'] }),
  ],
])('blocks %s when it names a guardrail that does not exist', (id, resource) => {
  server.seed('Guardrail', 'nine', { slug: 'pg-nine-0a1b2d' });
  expect(messagesOf(plan(resource))).toEqual([
    `${id} unknown-guardrail: it names the guardrail "pg-none-0a1b2c", which the workspace support and the organisation do not have; did you mean "pg-nine-0a1b2d"?`,
  ]);
});

it('accepts a guardrail of the workspace or the organisation, by slug or id', () => {
  const own = server.seed('Guardrail', 'own', { slug: 'pg-own-0a1b2c' }, support);
  const shared = server.seed('Guardrail', 'all', { slug: 'pg-all-0a1b2c' });
  const hooks = [{ id: 'pg-own-0a1b2c' }, { id: shared.id }];
  const made = plan(config({ before_request_hooks: hooks, input_guardrails: [own.id] }));
  expect(made.blocked).toEqual([]);
});

it('refuses a guardrail of another workspace, and one of the other target', () => {
  const sales = server.find('Workspace/sales').id;
  server.seed('Guardrail', 'theirs', { slug: 'pg-theirs-0a1b2c' }, sales);
  server.seed('Guardrail', 'tools', { slug: 'pg-tools-0a1b2c', target: 'mcp_tools' });
  expect(messagesOf(plan(config({ input_guardrails: ['pg-theirs-0a1b2c'] })))).toEqual([
    expect.stringContaining('which the workspace support and the organisation do not have'),
  ]);
  expect(messagesOf(plan(config({ after_request_hooks: [{ id: 'pg-tools-0a1b2c' }] })))).toEqual([
    'Config/support/c unknown-guardrail: it names the guardrail "pg-tools-0a1b2c", which has the target mcp_tools; name one with target: llm',
  ]);
});

it('prevents the deletion of a guardrail that is named', () => {
  const slug = 'pg-g-0a1b2c';
  server.seed('Guardrail', 'g', { slug }, support);
  const user = config({ before_request_hooks: [{ id: slug }] });
  const declared = setOf([...workspaces, want('Guardrail', 'support/g', {}), user]);
  server.apply(server.plan(declared, { takeOwnership: true }));
  const { blocked } = plan(user);
  expect(blocked.map(({ id, reason }) => [id, reason])).toEqual([
    ['Guardrail/support/g', 'in-use'],
  ]);
});
