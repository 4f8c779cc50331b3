/** Selects the messages of a request that a service judges, by the role of their author. */
import { isObject } from '../../model/json/read-object.ts';
import type { CheckSubject } from '../check.ts';
import type { Passage, PassagePath } from '../texts/passages.ts';
import type { SelectedText } from './remote-service.ts';
import { scaffoldingIn } from './scaffolding.ts';

const scanScopes = ['last_message', 'last_user_message', 'user_messages', 'all_messages'] as const;
export type ScanScope = (typeof scanScopes)[number];

/** Members with results of tools, which come from outside and can contain instructions. */
const resultMembers: ReadonlySet<unknown> = new Set([
  'functionResponse',
  'function_response',
  'toolResult',
  'tool_outputs',
]);
const resultRoles: ReadonlySet<unknown> = new Set(['tool', 'function']);

/** Facts about the message that contains a passage. */
interface MessagePlace {
  /** Index in the list of messages; null outside of messages. */
  readonly message: number | null;
  readonly isUser: boolean;
  readonly isToolResult: boolean;
}

/**
 * Selects texts by the scope: `last_message` is what the guardrail itself judges. Results of tools are selected
 * wherever the scope begins, and never shortened.
 */
export function selectByScope(
  subject: CheckSubject,
  scope: ScanScope,
  stripsScaffolding: boolean,
): SelectedText[] {
  const { side, passages, conversation = passages } = subject;
  const offset = conversation.length - passages.length;
  // An earlier check may have changed the passages.
  const placed = [...conversation.slice(0, offset), ...passages].map((passage, at) => ({
    passage,
    at,
    place: placeOf(subject, passage),
  }));
  const lastUser = placed.findLast(({ place }) => place.isUser && !place.isToolResult);
  const from = lastUser?.place.message ?? 0;
  // Requests without messages, such as completions, are written by the user.
  const hasMessages = placed.some(({ place }) => place.message !== null);
  return placed.flatMap(({ passage, at, place }) => {
    const isOwn = at >= offset;
    const isSelected =
      scope === 'last_message' ? isOwn : (isInScope(scope, place, from) ?? (isOwn && !hasMessages));
    if (side === 'input' && !isSelected) return [];
    const parts =
      stripsScaffolding && side === 'input' && !place.isToolResult
        ? scaffoldingIn(passage.text)
        : [{ text: passage.text, from: 0 }];
    return parts.map((part) => ({ ...part, passage: isOwn ? at - offset : null }));
  });
}

/** Null for a passage outside of messages. */
function isInScope(
  scope: ScanScope,
  { message, isUser, isToolResult }: MessagePlace,
  lastUser: number,
): boolean | null {
  if (scope === 'all_messages') return true;
  if (message === null) return null;
  if (scope === 'user_messages') return isUser || isToolResult;
  return isToolResult ? message >= lastUser : isUser && message === lastUser;
}

/** Whether the request contains results of tools among its judged passages. */
export function hasToolResults(subject: CheckSubject): boolean {
  return subject.passages.some((passage) => placeOf(subject, passage).isToolResult);
}

/** The last message of a user in the request of a response; empty for a request without messages. */
export function requestText({ params }: CheckSubject): string {
  const { messages, input, prompt } = params;
  const list = Array.isArray(messages) ? messages : input;
  if (!Array.isArray(list)) return [input, prompt].find((one) => typeof one === 'string') ?? '';
  const last = list.findLast((one) => isObject(one) && one.role === 'user');
  const content = isObject(last) ? last.content : undefined;
  if (typeof content === 'string') return content;
  return Array.isArray(content)
    ? content
        .flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
        .join('\n')
    : '';
}

function placeOf({ params, side }: CheckSubject, { path }: Pick<Passage, 'path'>): MessagePlace {
  if (side === 'output') return { message: null, isUser: false, isToolResult: false };
  const [list, at] = path;
  const isListed = typeof at === 'number' && Array.isArray(params[String(list)]);
  const message = isListed ? (params[String(list)] as unknown[])[at] : undefined;
  if (!isObject(message))
    return { message: null, isUser: false, isToolResult: isResult(params, path) };
  return {
    message: at as number,
    isUser: message.role === 'user',
    isToolResult: resultRoles.has(message.role) || isResult(params, path),
  };
}

/** Whether a value on the path is a result of a tool. */
function isResult(params: CheckSubject['params'], path: PassagePath): boolean {
  let value: unknown = params;
  for (const step of path) {
    if (resultMembers.has(step)) return true;
    value = (value as Record<string | number, unknown> | null | undefined)?.[step];
    const type = isObject(value) ? value.type : undefined;
    if (typeof type === 'string' && /^(?:tool_result|\w+_call_output)$/.test(type)) return true;
  }
  return false;
}
