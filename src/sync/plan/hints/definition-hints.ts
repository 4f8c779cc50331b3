/** Reports definitions of MCP servers that are not approved, with their differences, and servers without a first list. */
import { findingText } from '../../../model/mcp/definition-finding.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
} from '../../resources/resource-set.ts';

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

/** Names new integrations whose policy refuses everything until a first list of definitions is approved. */
export function firstListHints(
  wanted: readonly DesiredResource[],
  live: ReadonlyMap<string, unknown>,
): string[] {
  return wanted.flatMap(({ identity, spec, absent }) => {
    const { definition_policy: policy, approved_definitions: approved } = spec;
    const isNew = !absent && !live.has(identityKey(identity));
    if (identity.kind !== 'McpIntegration' || !isNew || approved !== undefined) return [];
    if (policy !== 'hide' && policy !== 'block') return [];
    const command = `gatewright approve ${nameOf(identity)} --refresh`;
    return [
      `${identityKey(identity)}: with definition_policy ${policy} nothing can be used before "${command}"`,
    ];
  });
}

/** The name that commands take. */
function nameOf({ workspace, name }: Identity): string {
  return workspace === null ? name : `${workspace}/${name}`;
}
