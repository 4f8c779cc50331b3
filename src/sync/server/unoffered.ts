/** Finds entries of disabled_capabilities that fit nothing the MCP server offers, so that they disable nothing. */
import { didYouMean } from '../../suggest.ts';
import { identityKey, type LiveSet, type SpecJson } from '../resources/resource-set.ts';
import { referencesIn } from '../resources/spec-paths.ts';
import type { ServerDefinition } from './definitions.ts';

interface CapabilityEntry {
  readonly type: string;
  readonly name: string;
}

/**
 * Returns a line for each disabled tool or prompt of the integration, and of the servers that are based on it,
 * that is not among the definitions. A misspelt name would leave the intended tool enabled. Resources are left
 * out, because they can be disabled by address.
 */
export function unofferedLines(
  { resources }: Pick<LiveSet, 'resources'>,
  integrationKey: string,
  definitions: readonly ServerDefinition[],
): string[] {
  const offered = definitions.filter(({ state }) => state !== 'gone');
  return resources.flatMap(({ identity, spec }) => {
    const key = identityKey(identity);
    const isBased = identity.kind === 'McpServer' && referencesIn(spec).includes(integrationKey);
    if (key !== integrationKey && !isBased) return [];
    return entriesOf(spec.disabled_capabilities).flatMap(({ type, name }) => {
      const names = offered.filter((one) => one.type === type).map((one) => one.name);
      if (type === 'resource' || names.includes(name)) return [];
      const hint = didYouMean(name, names);
      const line = `${key} disables the ${type} ${name}, which the server does not offer`;
      return [hint === undefined ? line : `${line}; ${hint}`];
    });
  });
}

function entriesOf(value: SpecJson | undefined): readonly CapabilityEntry[] {
  return Array.isArray(value) ? (value as unknown as readonly CapabilityEntry[]) : [];
}
