/** Reports conditions of policies that name MCP servers which will not exist after a plan. */
import { serversNamedIn, unknownServerText } from '../../../model/limits/named-servers.ts';
import {
  type DesiredResource,
  identityKey,
  type LiveResource,
} from '../../resources/resource-set.ts';

const policyKinds: ReadonlySet<string> = new Set(['RateLimitPolicy', 'UsageLimitPolicy']);

/** @param wanted with the slugs that they will have */
export function unknownServerHints(
  wanted: readonly DesiredResource[],
  live: readonly LiveResource[],
): string[] {
  const known = knownServers(wanted, live);
  const none: ReadonlySet<string> = new Set();
  return wanted.flatMap(({ identity, spec, absent }) => {
    if (absent || !policyKinds.has(identity.kind)) return [];
    const { workspace } = identity;
    const servers = known.get(workspace) ?? none;
    return serversNamedIn(spec.conditions)
      .filter(({ server }) => !servers.has(server))
      .map((named) => {
        const text = unknownServerText(named, `the workspace ${workspace}`, servers);
        return `${identityKey(identity)}: ${text}`;
      });
  });
}

/** Slugs and ids by workspace. */
function knownServers(
  wanted: readonly DesiredResource[],
  live: readonly LiveResource[],
): ReadonlyMap<string | null, ReadonlySet<string>> {
  const known = new Map<string | null, Set<string>>();
  const add = (workspace: string | null, names: readonly unknown[]): void => {
    const servers = known.get(workspace) ?? new Set();
    known.set(workspace, servers);
    for (const name of names) if (typeof name === 'string') servers.add(name);
  };
  const declared = new Map(
    wanted
      .filter(({ identity }) => identity.kind === 'McpServer')
      .map((resource) => [identityKey(resource.identity), resource]),
  );
  for (const { identity, id, slug } of live) {
    const manifest = declared.get(identityKey(identity));
    if (identity.kind !== 'McpServer' || manifest?.absent === true) continue;
    add(identity.workspace, [id, manifest?.spec.slug ?? slug]);
  }
  for (const { identity, spec, absent } of declared.values()) {
    if (!absent) add(identity.workspace, [spec.slug]);
  }
  return known;
}
