/** Tests the warnings of a plan about policies that name MCP servers which will not exist. */
import { beforeEach, expect, it } from 'vitest';
import type { DesiredResource, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;
beforeEach(() => {
  server = new ModelServer();
});

const base = [want('Workspace', 'team'), want('Workspace', 'sales')];
const files = want('McpServer', 'team/files', { slug: 'files' });
const policy = (key: string, value: string | string[], more: Spec = {}): DesiredResource =>
  want('RateLimitPolicy', 'team/calls', {
    target: 'mcp_tools',
    conditions: [{ key, value, ...more }],
  });

function applyFiles(): void {
  server.apply(server.plan(setOf([...base, files])));
}

function warnings(...resources: DesiredResource[]): readonly string[] {
  return server
    .plan(setOf([...base, ...resources]))
    .warnings.filter((text) => text.includes('the MCP server'));
}

it.each([
  ['mcp_tool', 'fils/search', 'unless a tool has this name; did you mean files/search?'],
  ['mcp_server', 'fils', 'so it matches no call; did you mean files?'],
  [
    'mcp_server',
    ['files', 'other'],
    'the MCP server other, which the workspace team does not have',
  ],
])('warns of a condition on %s with the value %j', (key, value, text) => {
  expect(warnings(files, policy(key, value))).toEqual([
    expect.stringMatching(/^RateLimitPolicy\/team\/calls: /),
  ]);
  expect(warnings(files, policy(key, value))[0]).toContain(text);
});

it('warns of what is excluded, of servers of other workspaces, and of servers that leave', () => {
  expect(warnings(files, policy('mcp_server', '*', { excludes: 'fils' }))).toHaveLength(1);
  const elsewhere = want('McpServer', 'sales/crm', { slug: 'crm' });
  expect(warnings(elsewhere, policy('mcp_server', 'crm'))).toHaveLength(1);
  applyFiles();
  expect(warnings({ ...files, absent: true }, policy('mcp_server', 'files'))).toHaveLength(1);
});

it('says nothing of servers that exist or are declared, of patterns, and of names of tools', () => {
  applyFiles();
  const { id } = server.find('McpServer/team/files');
  expect(warnings(files, policy('mcp_server', ['files', id, 'fi*', '*']))).toEqual([]);
  expect(warnings(files, policy('mcp_tool', ['search', '*', 'files/find', 'fi*/x']))).toEqual([]);
});
