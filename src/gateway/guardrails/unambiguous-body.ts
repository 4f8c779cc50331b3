/** Knows bodies in which a provider could read other texts than those that guardrails have judged. */
import { hasDuplicateKeys } from '../../model/json/json-object.ts';
import type { Exchange } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Where texts stand, at the top of a body. */
const holders: ReadonlySet<string> = new Set([
  ...['messages', 'system', 'instructions', 'input', 'prompt', 'content', 'items', 'query'],
  ...['additional_instructions', 'additional_messages', 'thread', 'tool_outputs', 'requests'],
]);
/** Below. */
const held: ReadonlySet<string> = new Set([
  ...['messages', 'content', 'text', 'value', 'output', 'system', 'params'],
]);
/** What has names of its caller's own. */
const namedByCaller: ReadonlySet<string> = new Set([
  ...['metadata', 'arguments', 'tool_calls', 'input', 'variables'],
]);

/** As deep as texts are looked for. */
const depthMax = 32;

/** @throws GatewayError for a member twice, which readers take differently, and for one that only some know by its letters */
export function requireUnambiguousBody({ body, params, isJson }: Exchange): void {
  if (body === null) return;
  if (!isJson) {
    const message = 'The body must come as application/json: guardrails judge it';
    throw new GatewayError('invalid_json', message, 'content-type');
  }
  if (hasDuplicateKeys(body)) {
    const message =
      'The JSON body has the same member twice in one of its objects, and guardrails judge it';
    throw new GatewayError('invalid_json', message);
  }
  const misnamed =
    misnamedIn(params, holders) ??
    Object.entries(params)
      .filter(([name]) => holders.has(name))
      .map(([, value]) => misnamedWithin(value, 0))
      .find((name) => name !== null);
  if (misnamed == null) return;
  throw new GatewayError('invalid_json', `${misnamed} must be written in small letters`, misnamed);
}

function misnamedWithin(value: unknown, depth: number): string | null {
  if (typeof value !== 'object' || value === null || depth > depthMax) return null;
  const isList = Array.isArray(value);
  const own = isList ? null : misnamedIn(value, held);
  if (own !== null) return own;
  for (const [name, below] of Object.entries(value)) {
    if (!isList && namedByCaller.has(name)) continue;
    const found = misnamedWithin(below, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** The name that one of the members has in the letters of others; null where all are written as they are. */
function misnamedIn(value: object, names: ReadonlySet<string>): string | null {
  for (const name of Object.keys(value)) {
    if (/^[a-z\d_]*$/.test(name)) continue;
    const folded = name.toUpperCase().toLowerCase();
    if (names.has(folded)) return folded;
  }
  return null;
}
