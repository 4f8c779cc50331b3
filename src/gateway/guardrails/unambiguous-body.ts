/** Rejects bodies in which a provider could read other texts than the guardrails judge. */
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import type { Slices } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Top-level members that contain texts. */
const topMembers: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'instructions',
  'input',
  'contents',
  'prompt',
  'content',
  'items',
  'query',
  'additional_instructions',
  'additional_messages',
  'thread',
  'tool_outputs',
  'requests',
]);
/** Members below them that contain texts. */
const innerMembers: ReadonlySet<string> = new Set([
  'messages',
  'content',
  'parts',
  'text',
  'value',
  'output',
  'system',
  'params',
]);
/** Members whose inner names the caller chooses. */
const freeFormMembers: ReadonlySet<string> = new Set([
  'metadata',
  'args',
  'arguments',
  'response',
  'tool_calls',
  'input',
  'variables',
]);

/** @throws GatewayError for duplicate members, and for names that only case-insensitive readers recognise */
export function* requireUnambiguousBody({ body, params, isJson }: Exchange): Slices<void> {
  if (body === null) return;
  if (!isJson) {
    const message = 'The content type must be application/json, because guardrails check the body';
    throw new GatewayError('invalid_json', message, 'content-type');
  }
  if (yield* findDuplicateKeys(body)) {
    const message = 'The JSON body contains a duplicate member, which guardrails do not accept';
    throw new GatewayError('invalid_json', message);
  }
  yield;
  let misnamed = misnamedIn(params, topMembers);
  for (const [name, value] of Object.entries(params)) {
    if (topMembers.has(name)) misnamed ??= misnamedWithin(value);
  }
  yield;
  if (misnamed === null) return;
  throw new GatewayError('invalid_json', `${misnamed} must be in lower case`, misnamed);
}

function misnamedWithin(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (const item of value) {
      const misnamed = misnamedWithin(item);
      if (misnamed !== null) return misnamed;
    }
    return null;
  }
  const own = misnamedIn(value, innerMembers);
  if (own !== null) return own;
  for (const name of Object.keys(value)) {
    if (freeFormMembers.has(name)) continue;
    const misnamed = misnamedWithin((value as Readonly<Record<string, unknown>>)[name]);
    if (misnamed !== null) return misnamed;
  }
  return null;
}

/** Returns the expected name of a member that differs only in case; null when there is none. */
function misnamedIn(value: object, names: ReadonlySet<string>): string | null {
  for (const name of Object.keys(value)) {
    if (/^[a-z\d_]*$/.test(name)) continue;
    const folded = name.toUpperCase().toLowerCase();
    if (names.has(folded)) return folded;
  }
  return null;
}
