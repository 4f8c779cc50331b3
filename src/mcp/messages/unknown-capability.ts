/** Gives unknown and disabled capabilities one error, so that callers cannot tell them apart. */
import { isObject } from '../../model/json/read-object.ts';
import type { NamedCapability } from './capability-rules.ts';
import { PlaneFault } from './plane-fault.ts';
import type { RpcObject } from './read-messages.ts';

const kinds = { tool: 'tool', prompt: 'prompt', resource: 'resource' } as const;
/** JSON-RPC codes with which servers report an unknown name: invalid parameters, and not found. */
const codes: ReadonlySet<unknown> = new Set([-32602, -32002, -32601]);

export function unknownCapability({ type, name }: NamedCapability): PlaneFault {
  const data = type === 'resource' ? { uri: name } : {};
  return new PlaneFault('unknown_capability', `Unknown ${kinds[type]}: ${name}`, { data });
}

/**
 * Whether a response of the server says that it does not know the capability, as an error or, as the
 * reference SDK does for tools, as a result.
 */
export function saysUnknown({ error, result }: RpcObject, named: NamedCapability): boolean {
  if (isObject(error)) {
    return codes.has(error.code) && isUnknownText(error.message, named);
  }
  if (!isObject(result) || result.isError !== true || !Array.isArray(result.content)) return false;
  const [only, ...more] = result.content as unknown[];
  return more.length === 0 && isObject(only) && isUnknownText(only.text, named);
}

const states = /^(?:is |was )?(?:not found|unknown|disabled|not available|does not exist)?$/;

/** `MCP error -32602: Tool x not found`, `Unknown tool: x`, `Resource test://x not found`. */
function isUnknownText(message: unknown, { type, name }: NamedCapability): boolean {
  if (typeof message !== 'string' || message.length > name.length + 100) return false;
  const at = message.indexOf(name);
  if (at < 0) return false;
  const before = message
    .slice(0, at)
    .replace(/^MCP error -\d+: /, '')
    .replace(/["'`]$/, '')
    .trim()
    .toLowerCase();
  const after = message
    .slice(at + name.length)
    .replace(/^["'`]/, '')
    .replace(/\.$/, '')
    .trim()
    .toLowerCase();
  const kind = kinds[type];
  const saysSoBefore = new RegExp(
    `^(?:unknown ${kind}|no such ${kind}|${kind} (?:is )?(?:not found|unknown|disabled)|not found):?$`,
  );
  if (saysSoBefore.test(before)) return after === '';
  return (before === kind || before === '') && after !== '' && states.test(after);
}
