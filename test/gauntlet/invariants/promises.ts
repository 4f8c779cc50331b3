/** Checks that everything acknowledged is there: changes, stored responses, tool calls and commits. */
import type { Aftermath, Invariant } from './invariant.ts';

const down = 'docs/guides/operations.md, When something is down';

/** Compares each key with the last acknowledged change; keys with an unknown outcome are left out. */
async function lostChanges({ scene, loads }: Aftermath): Promise<string[]> {
  const [tenant] = scene.tenants;
  const lost: string[] = [];
  for (const { id, state } of loads.administration.keys) {
    if (state === null) continue;
    const { status, body } = await tenant.send('GET', `/v1/api-keys/${id}`);
    const found = status === 200 ? body.description : status;
    const expected = state === 'deleted' ? 404 : state.description;
    if (found !== expected) lost.push(`key ${id}: ${found} instead of ${expected}`);
  }
  return lost;
}

interface CalledTool {
  readonly text: string;
}

/** A result that arrived belongs to exactly one call of the server. */
async function toolCallFaults({ scene, loads }: Aftermath): Promise<string[]> {
  const counts = new Map<string, number>();
  for (const { text } of scene.toolServer.entries<CalledTool>()) {
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const lost = loads.tools.answered.filter((text) => !counts.has(text));
  const doubled = [...counts].filter(([, count]) => count > 1);
  return [
    ...lost.map((text) => `${text} has a result without a call`),
    ...doubled.map(([text, count]) => `${text} was called ${count} times`),
  ];
}

export const promiseInvariants: readonly Invariant[] = [
  { name: 'acknowledged writes lost', document: down, check: lostChanges },
  {
    name: 'stored responses lost',
    document: 'docs/reference/stored-objects.md, Objects that callers keep',
    check: async ({ unreadObjects }) => unreadObjects,
  },
  { name: 'tool calls lost or doubled', document: 'docs/reference/mcp.md', check: toolCallFaults },
  {
    name: 'commits that were not applied',
    document: down,
    check: async ({ isSynced }) => (isSynced ? [] : ['the server lacks the newest commit']),
  },
];
