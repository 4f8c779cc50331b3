/** Translates the turns of a conversation from Anthropic's format to OpenAI's. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import {
  anthropicReasoning,
  earlierReasoning,
  type ReasoningDetail,
  unpackDetails,
} from '../translation/reasoning.ts';
import { isOfCall, signedCalls } from '../translation/thought-signatures.ts';
import {
  cacheControlOf,
  followKind,
  partsOf,
  plainText,
  simplify,
  textPartOf,
} from './anthropic-blocks-to-openai.ts';
import * as rules from './message-rules.ts';

/** @throws NotTranslatable */
export function chatMessagesFromTurns(
  system: DocumentNode,
  turns: DocumentNode,
  extensions: ChatExtensions,
): Json[] {
  const messages: Json[] = [];
  if (!system.isAbsent) {
    messages.push({ role: 'system', content: plainText(system, extensions) });
  }
  for (const turn of turns.items()) {
    const role = turn.at('role');
    const ofRole = rules.turnShape.kinds[String(role.value)];
    if (ofRole === undefined) {
      role.text();
      role.refuseUnsupported();
    }
    turn.follow(ofRole as MemberRules);
    const content = turn.at('content');
    if (role.value === 'user') messages.push(...userMessages(content, extensions));
    else if (role.value === 'assistant') messages.push(assistantMessage(content, extensions));
    else messages.push({ role: 'system', content: plainText(content, extensions) });
  }
  return messages;
}

/** Tool results become separate messages, which come first. */
function userMessages(content: DocumentNode, extensions: ChatExtensions): Json[] {
  if (content.isText) return [{ role: 'user', content: content.value }];
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const block of content.items()) {
    if (block.at('type').value === 'tool_result') {
      const { message, attached } = toolMessage(block, extensions);
      results.push(message);
      parts.push(...attached);
    } else {
      parts.push(...partsOf([block], extensions));
    }
  }
  return parts.length === 0 && results.length > 0
    ? results
    : [...results, { role: 'user', content: simplify(parts) }];
}

/** Messages of `tool` contain texts only, so that pictures and files are attached to the message after them. */
function toolMessage(
  block: DocumentNode,
  extensions: ChatExtensions,
): { readonly message: Json; readonly attached: readonly Json[] } {
  followKind(block, 'tool_result');
  const id = block.at('tool_use_id').text();
  const result = block.at('content');
  const isList = !result.isAbsent && !result.isText;
  const parts = isList ? partsOf(result.items(), extensions) : [];
  const texts = parts.filter(({ type }) => type === 'text');
  const others = parts.filter(({ type }) => type !== 'text');
  const text = isList ? (texts.length === 0 ? '' : simplify(texts)) : (result.value ?? '');
  const content = block.at('is_error').value === true ? withErrorPrefix(text) : text;
  const mark = cacheControlOf(block, extensions);
  const attached =
    others.length === 0 ? [] : [{ type: 'text', text: `Result of tool call ${id}:` }, ...others];
  const marked =
    'cache_control' in mark && typeof content === 'string'
      ? [{ type: 'text', text: content, ...mark }]
      : content;
  return { message: { role: 'tool', tool_call_id: id, content: marked }, attached };
}

/** OpenAI has no error flag for tool results, so the text states the error. */
function withErrorPrefix(content: unknown): unknown {
  const prefix = 'Error: ';
  if (typeof content === 'string') return prefix + content;
  return [{ type: 'text', text: prefix }, ...(content as readonly Json[])];
}

function assistantMessage(content: DocumentNode, extensions: ChatExtensions): Json {
  if (content.isText) return { role: 'assistant', content: content.value };
  const texts: string[] = [];
  const calls: Json[] = [];
  const reasoning = new EarlierReasoning(extensions.reasoning);
  for (const block of content.items()) {
    switch (block.at('type').text()) {
      case 'text':
        texts.push(textPartOf(block, extensions).text as string);
        break;
      case 'tool_use':
        calls.push(toolCall(block, extensions));
        break;
      case 'thinking':
      case 'redacted_thinking':
        reasoning.add(block);
        break;
      default:
        dropBlock(block);
    }
  }
  const text = texts.join('');
  return {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    ...reasoning.members(),
    ...(calls.length === 0 ? {} : { tool_calls: reasoning.callsWith(calls) }),
  };
}

/** A search of tools has no effect, because no tool is deferred; the answer says what a search of the web found. */
function dropBlock(block: DocumentNode): void {
  const isSearch =
    block.at('type').value === 'server_tool_use' &&
    /^(?:tool_search_tool|web_search$|web_fetch$)/.test(String(block.at('name').value));
  if (isSearch) block.at('type').dropHint();
  else block.dropKind(rules.blockShape);
}

/** Collects the reasoning of a turn in the form that the service takes. */
class EarlierReasoning {
  readonly #form: ChatExtensions['reasoning'];
  readonly #details: ReasoningDetail[] = [];

  constructor(form: ChatExtensions['reasoning']) {
    this.#form = form;
  }

  add(block: DocumentNode): void {
    const isRedacted = block.at('type').value === 'redacted_thinking';
    followKind(block, isRedacted ? 'redacted_thinking' : 'thinking');
    if (this.#form === null || (isRedacted && this.#form === 'text')) {
      block.dropKind(hiddenReasoning);
      return;
    }
    const details = isRedacted ? redactedDetails(block) : thinkingDetails(block);
    if (this.#form === 'calls' && !details.every(isOfCall)) {
      block.dropKind(hiddenReasoning);
    }
    for (const one of details) this.#details.push({ ...one, index: this.#details.length });
  }

  members(): Json {
    return earlierReasoning(this.#details, this.#form);
  }

  /** The calls of the turn, with their signatures where the service takes them. */
  callsWith(calls: readonly Json[]): readonly Json[] {
    return this.#form === 'calls' ? signedCalls(calls, this.#details) : calls;
  }
}

/** Reasoning of earlier turns is a hint. */
const hiddenReasoning = {
  ...rules.blockShape,
  kinds: {
    thinking: { treatment: 'hint', note: '', usual: [] },
    redacted_thinking: { treatment: 'hint', note: '', usual: [] },
  },
} as const;

function thinkingDetails(block: DocumentNode): readonly ReasoningDetail[] {
  const text = block.at('thinking').text();
  const { value: signature } = block.at('signature');
  const packed = typeof signature === 'string' ? unpackDetails(signature, text) : null;
  if (packed !== null && packed.length > 0) return packed;
  const isSigned = packed === null && typeof signature === 'string' && signature !== '';
  return [
    {
      type: 'reasoning.text',
      text,
      ...(isSigned ? { signature, format: anthropicReasoning } : {}),
    },
  ];
}

function redactedDetails(block: DocumentNode): readonly ReasoningDetail[] {
  const data = block.at('data').text();
  return (
    unpackDetails(data, '') ?? [{ type: 'reasoning.encrypted', data, format: anthropicReasoning }]
  );
}

function toolCall(block: DocumentNode, extensions: ChatExtensions): Json {
  followKind(block, 'tool_use');
  cacheControlOf(block, { ...extensions, hasCacheControl: false });
  return {
    id: block.at('id').text(),
    type: 'function',
    function: {
      name: block.at('name').text(),
      arguments: JSON.stringify(block.at('input').json()),
    },
  };
}
