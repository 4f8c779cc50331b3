/** Separates the members of `_meta` that the protocol defines from those that carry texts of the sender. */
import { isObject } from '../../model/json/read-object.ts';
import type { RpcObject } from './read-messages.ts';

const prefix = 'io.modelcontextprotocol/';
/** Capabilities of the client, which it declares with each request of the modern era. */
export const capabilitiesMember = `${prefix}clientCapabilities`;
const protocolMembers: ReadonlySet<string> = new Set([
  'progressToken',
  'traceparent',
  ...[
    'clientCapabilities',
    'clientInfo',
    'logLevel',
    'protocolVersion',
    'related-task',
    'serverInfo',
    'subscriptionId',
  ].map((name) => prefix + name),
]);

/** Parameters whose texts are judged, with what the protocol defines left out. */
export interface OwnParams {
  readonly texts: RpcObject;
  /** Returns the parameters with other texts. */
  readonly replace: (changed: RpcObject) => RpcObject;
}

/** `left` names further members that are no texts. */
export function ownParams(params: RpcObject, left: readonly string[] = []): OwnParams {
  const { _meta: meta, ...named } = params;
  // Entries keep a member `__proto__`, which an assignment would lose.
  const members = Object.entries(named);
  const rest = Object.fromEntries(members.filter(([name]) => left.includes(name)));
  const texts = Object.fromEntries(members.filter(([name]) => !left.includes(name)));
  if (!isObject(meta)) {
    if (meta !== undefined) texts._meta = meta;
    return { texts, replace: (changed) => ({ ...rest, ...changed }) };
  }
  const entries = Object.entries(meta);
  const own = entries.filter(([name]) => !protocolMembers.has(name));
  if (own.length === 0) {
    return { texts, replace: (changed) => ({ ...rest, _meta: meta, ...changed }) };
  }
  texts._meta = Object.fromEntries(own);
  const others = Object.fromEntries(entries.filter(([name]) => protocolMembers.has(name)));
  const replace = (changed: RpcObject): RpcObject => {
    const changedMeta = isObject(changed._meta) ? changed._meta : {};
    return { ...rest, ...changed, _meta: { ...others, ...changedMeta } };
  };
  return { texts, replace };
}
