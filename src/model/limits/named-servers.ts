/** Finds the MCP servers that conditions of policies name, so that a misspelled one is reported. */
import { nearest } from '../../suggest.ts';
import { isObject } from '../json/read-object.ts';
import { toolKeys } from './policy.ts';

/** A condition that names a server: by slug or id, or `server/tool`. */
export interface NamedServer {
  readonly key: (typeof toolKeys)[number];
  /** The value of the condition. */
  readonly value: string;
  readonly server: string;
}

/** `conditions` are those of a policy in any form; what is no condition names none. */
export function serversNamedIn(conditions: unknown): NamedServer[] {
  if (!Array.isArray(conditions)) return [];
  return conditions.filter(isObject).flatMap((condition) => {
    const key = toolKeys.find((one) => one === condition.key);
    if (key === undefined) return [];
    const values = [condition.value ?? [], condition.excludes ?? []].flat(2);
    return values.flatMap((value) => {
      const server = typeof value === 'string' ? serverIn(key, value) : null;
      return server === null ? [] : [{ key, value: value as string, server }];
    });
  });
}

/** Null for a value that names no server, or any of several. */
function serverIn(key: NamedServer['key'], value: string): string | null {
  const slash = value.indexOf('/');
  const server = key === 'mcp_server' ? value : value.slice(0, Math.max(0, slash));
  return server === '' || server.endsWith('*') ? null : server;
}

/** Says that the condition matches nothing. `owner` lacks the server; `known` are the slugs that it has. */
export function unknownServerText(
  { key, value, server }: NamedServer,
  owner: string,
  known: Iterable<string>,
): string {
  const near = nearest(server, known);
  const hint = near === undefined ? '' : `; did you mean ${near}${value.slice(server.length)}?`;
  const unless = key === 'mcp_tool' ? ' unless a tool has this name' : '';
  return `${key} ${value} names the MCP server ${server}, which ${owner} does not have, so it matches no call${unless}${hint}`;
}
