/** Lists the eras of MCP with the server that stands in for each, and what the conformance suite requires of it. */
import type { Revision } from './conformance.ts';
import type { McpFixture } from './fixture-host.ts';
import { startLegacyFixture } from './legacy-fixture.ts';
import { startModernFixture } from './modern-fixture.ts';

export interface McpEra {
  readonly name: 'legacy' | 'modern';
  readonly revision: Revision;
  readonly start: () => Promise<McpFixture>;
  /** Number of scenarios for servers that the revision requires. */
  readonly requiredCount: number;
  /** Other scenarios that the fixture fails, because it lacks an extension; a gateway must fail them equally. */
  readonly failsUnscored: RegExp;
  /**
   * Required scenarios that the fixture of the other era passes too, because it refuses everything.
   * They prove nothing about a bridge between the eras.
   */
  readonly vacuous: readonly string[];
}

export const mcpEras: readonly McpEra[] = [
  {
    name: 'legacy',
    revision: '2025-11-25',
    start: startLegacyFixture,
    requiredCount: 30,
    failsUnscored: /^$/,
    vacuous: [],
  },
  {
    name: 'modern',
    revision: '2026-07-28',
    start: startModernFixture,
    requiredCount: 37,
    failsUnscored: /^tasks-/,
    vacuous: ['input-required-result-validate-input'],
  },
];
