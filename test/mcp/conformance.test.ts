/** Tests that the MCP fixtures conform to the revision of their era, directly and through a proxy that adds a key. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ConformanceRun,
  differencesOf,
  faultsOf,
  passedScenarios,
  requiredScenarios,
  runConformance,
} from '../support/mcp/conformance.ts';
import { mcpEras } from '../support/mcp/eras.ts';
import type { McpFixture } from '../support/mcp/fixture-host.ts';
import { startHeaderShim } from '../support/mcp/header-shim.ts';

describe.each(mcpEras)('the $name fixture', (era) => {
  const { revision, start, requiredCount, failsUnscored } = era;
  const stack = new AsyncDisposableStack();
  let fixture: McpFixture;
  let direct: ConformanceRun;

  beforeAll(async () => {
    fixture = stack.use(await start());
    direct = await runConformance(fixture.url, revision);
  });

  afterAll(() => stack.disposeAsync());

  it(`passes all ${requiredCount} required scenarios`, () => {
    expect(faultsOf(direct, (_, { isRequired }) => isRequired)).toEqual([]);
    expect(passedScenarios(direct)).toEqual(requiredScenarios(revision));
    expect(passedScenarios(direct)).toHaveLength(requiredCount);
  });

  it('passes the other scenarios, except those of extensions', () => {
    const faults = faultsOf(
      direct,
      (name, { isRequired }) => !isRequired && !failsUnscored.test(name),
    );
    expect(faults).toEqual([]);
  });

  it('has the same verdict for each check through a proxy that adds a key', async () => {
    const before = fixture.journal.length;
    const headers = { 'x-gateway-api-key': 'key of the test' };
    await using shim = await startHeaderShim({ targets: [fixture.url], headers });
    const through = await runConformance(shim.url, revision);
    expect(differencesOf(direct, through)).toEqual([]);
    const reached = fixture.journal.slice(before);
    expect(reached.length).toBeGreaterThan(requiredCount);
    expect(new Set(reached.map((one) => one.headers['x-gateway-api-key']))).toEqual(
      new Set(['key of the test']),
    );
  });

  it('passes only vacuous scenarios of the other era', async () => {
    const other = mcpEras.find((one) => one !== era)!;
    const control = await runConformance(fixture.url, other.revision);
    expect(passedScenarios(control)).toEqual(other.vacuous);
  });
});
