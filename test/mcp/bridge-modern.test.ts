/** Tests that the modern set of the conformance suite passes through the MCP gateway against a legacy-only server, with every rule and two replicas. */
import { afterAll, describe, expect, it } from 'vitest';
import {
  faultsOf,
  passedScenarios,
  requiredScenarios,
  runConformance,
} from '../support/mcp/conformance.ts';
import { startLegacyFixture } from '../support/mcp/legacy-fixture.ts';
import { startRuledPlane } from '../support/mcp/ruled-plane.ts';

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const revision = '2026-07-28';

describe('the bridge from modern clients to a legacy-only server', () => {
  it('passes all required scenarios, which fail without it except for the vacuous one', async () => {
    const fixture = stack.use(await startLegacyFixture());
    const control = passedScenarios(await runConformance(fixture.url, revision));
    expect(control).toEqual(['input-required-result-validate-input']);
    const { url, key } = stack.use(await startRuledPlane(fixture.url));
    const from = fixture.journal.length;
    const through = await runConformance(url, revision);
    expect(faultsOf(through, (_, { isRequired, isPassed }) => isRequired && !isPassed)).toEqual([]);
    expect(passedScenarios(through)).toEqual(requiredScenarios(revision));
    expect(passedScenarios(through)).toHaveLength(37);
    // The vacuous scenario reaches the server, too: it has sent its question.
    expect(JSON.stringify(fixture.journal.slice(from))).toContain('test_input_required_result');
    expect(JSON.stringify(fixture.journal.map(({ headers }) => headers))).not.toContain(key);
  });
});
