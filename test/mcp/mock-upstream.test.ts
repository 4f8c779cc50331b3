/** Tests that the MCP server of `gatewright mock-upstream` conforms to both eras, as far as its few tools allow. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MockServer, startMockServer } from '../../src/commands/mock-upstream/mock-server.ts';
import { faultsOf, runConformance } from '../support/mcp/conformance.ts';

let mock: MockServer;

beforeAll(async () => {
  mock = await startMockServer('127.0.0.1', 0);
});

afterAll(() => mock[Symbol.asyncDispose]());

describe('the mock MCP server', () => {
  it('passes the legacy scenarios that need no particular tool', async () => {
    const run = await runConformance(mock.mcpUrl, '2025-11-25');
    const scenarios = [
      'server-initialize',
      'ping',
      'tools-list',
      'server-sse-multiple-streams',
      'resources-list',
      'prompts-list',
      'dns-rebinding-protection',
      'server-session-lifecycle',
    ];
    expect(faultsOf(run, (name) => scenarios.includes(name))).toEqual([]);
    expect(scenarios.filter((name) => run.get(name)?.isPassed === true)).toEqual(scenarios);
  });

  it('passes the modern scenarios that need no particular tool', async () => {
    const run = await runConformance(mock.mcpUrl, '2026-07-28');
    const scenarios = [
      'tools-list',
      'server-sse-multiple-streams',
      'resources-list',
      'sep-2164-resource-not-found',
      'prompts-list',
      'dns-rebinding-protection',
      'caching',
      'input-required-result-unsupported-methods',
      'http-header-validation',
    ];
    expect(faultsOf(run, (name) => scenarios.includes(name))).toEqual([]);
    expect(scenarios.filter((name) => run.get(name)?.isPassed === true)).toEqual(scenarios);
    const stateless = faultsOf(run, (name) => name === 'server-stateless');
    expect(stateless.filter((fault) => !fault.includes('Not testable'))).toEqual([]);
  });
});
