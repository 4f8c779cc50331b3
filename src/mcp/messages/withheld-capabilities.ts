/** Removes from what clients declare the capabilities that the server may not use. */
import { parseExactJson } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import { capabilitiesMember } from './protocol-meta.ts';
import type { RpcObject } from './read-messages.ts';

/** Null when the messages of the body declare none of the capabilities. */
export function withoutCapabilities(
  body: Buffer,
  messages: readonly { readonly json: RpcObject }[],
  disabled: ReadonlySet<string>,
): Buffer | null {
  if (disabled.size === 0 || !messages.some(({ json }) => declaresAny(json, disabled))) return null;
  const json = parseExactJson(body.toString('utf8'));
  for (const message of [json].flat()) {
    for (const declared of declarationsIn(message)) {
      for (const name of disabled) delete declared[name];
    }
  }
  return Buffer.from(JSON.stringify(json));
}

function declaresAny(message: RpcObject, disabled: ReadonlySet<string>): boolean {
  return declarationsIn(message).some((declared) =>
    Object.keys(declared).some((name) => disabled.has(name)),
  );
}

/** Objects in which a message declares capabilities: of `initialize`, and of the modern era. */
function declarationsIn(message: unknown): Record<string, unknown>[] {
  if (!isObject(message) || !isObject(message.params)) return [];
  const { capabilities, _meta: meta } = message.params;
  const legacy = message.method === 'initialize' ? capabilities : undefined;
  return [legacy, isObject(meta) ? meta[capabilitiesMember] : undefined].filter(isObject);
}
