/** Tests that legacy clients can use a server of the modern era through the gateway, with every rule and two replicas. */
import { afterAll, describe, expect, it } from 'vitest';
import {
  faultsOf,
  passedScenarios,
  requiredScenarios,
  runConformance,
} from '../support/mcp/conformance.ts';
import { startModernFixture } from '../support/mcp/modern-fixture.ts';
import { startRuledPlane } from '../support/mcp/ruled-plane.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

describe('the bridge from legacy clients to a modern server', () => {
  it('passes all 30 scenarios of 2025-11-25, none of which passes without it', async () => {
    const fixture = stack.use(await startModernFixture());
    const control = await runConformance(fixture.url, '2025-11-25');
    expect(passedScenarios(control)).toEqual([]);
    const { url, key } = stack.use(await startRuledPlane(fixture.url));
    const bridged = await runConformance(url, '2025-11-25');
    expect(faultsOf(bridged, (_, { isRequired }) => isRequired)).toEqual([]);
    expect(passedScenarios(bridged)).toEqual(requiredScenarios('2025-11-25'));
    expect(passedScenarios(bridged)).toHaveLength(30);
    expect(JSON.stringify(fixture.journal.map(({ headers }) => headers))).not.toContain(key);
  });
});
