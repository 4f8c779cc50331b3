/** Tests the warnings of a plan about new MCP integrations that refuse everything until their first list is approved. */
import { expect, it } from 'vitest';
import type { DesiredResource, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

const integration = (spec: Spec, name = 'team/files'): DesiredResource =>
  want('McpIntegration', name, spec);
const warningsOf = (server: ModelServer, ...resources: DesiredResource[]): readonly string[] =>
  server.plan(setOf([want('Workspace', 'team'), ...resources])).warnings;

it.each(['hide', 'block'])('names the command for a new integration with %s, once', (policy) => {
  const server = new ModelServer();
  const files = integration({ definition_policy: policy });
  expect(warningsOf(server, files)).toEqual([
    `McpIntegration/team/files: with definition_policy ${policy} nothing can be used before "gatewright approve team/files --refresh"`,
  ]);
  server.apply(server.plan(setOf([want('Workspace', 'team'), files])));
  expect(warningsOf(server, files)).toEqual([]);
});

it('names the integration of an organisation by its name only', () => {
  const crm = integration({ definition_policy: 'block' }, 'crm');
  expect(warningsOf(new ModelServer(), crm)[0]).toContain('gatewright approve crm --refresh');
});

it.each<Spec>([
  {},
  { definition_policy: 'observe' },
  {
    definition_policy: 'block',
    approved_definitions: [],
  },
])('says nothing of %j', (spec) => {
  expect(warningsOf(new ModelServer(), integration(spec))).toEqual([]);
});
