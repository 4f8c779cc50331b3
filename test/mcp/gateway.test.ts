/** Tests that the MCP gateway, with every rule on and two replicas, gives each check of the conformance suite the verdict that the server gives directly. */
import { afterAll, describe, expect, it } from 'vitest';
import { differencesOf, passedScenarios, runConformance } from '../support/mcp/conformance.ts';
import { mcpEras } from '../support/mcp/eras.ts';
import { startRuledPlane } from '../support/mcp/ruled-plane.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

describe.each(mcpEras)('the gateway in front of the $name fixture', (era) => {
  it('has the verdict of the fixture for each check, through two replicas with every rule', async () => {
    const fixture = stack.use(await era.start());
    const direct = await runConformance(fixture.url, era.revision);
    const { url, key } = stack.use(await startRuledPlane(fixture.url));
    const through = await runConformance(url, era.revision);
    expect(differencesOf(direct, through)).toEqual([]);
    expect(passedScenarios(through)).toHaveLength(era.requiredCount);
    expect(JSON.stringify(fixture.journal.map(({ headers }) => headers))).not.toContain(key);
  });
});
