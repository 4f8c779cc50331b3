/** Reports definitions of MCP servers that are not approved, with their differences. */
import { findingText } from '../../../model/mcp/definition-finding.ts';
import { identityKey, type LiveResource } from '../../resources/resource-set.ts';

const linesMax = 5;
const hintsMax = 20;

/** A plan does not change them: `approved_definitions` of the manifest or `gatewright approve` does. */
export function definitionHints(resources: readonly LiveResource[]): string[] {
  const hints = resources.flatMap(({ identity, definitions = [] }) =>
    definitions
      .filter(({ state }) => state !== 'trusted')
      .map((finding) => `${identityKey(identity)}: ${findingText(finding, linesMax)}`),
  );
  const more = hints.length - hintsMax;
  return more > 0 ? [...hints.slice(0, hintsMax), `${more} more definitions need approval`] : hints;
}
