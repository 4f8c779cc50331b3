/** Translates the content blocks of a streamed message of Anthropic to deltas of a chat. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { customToolInput } from '../translation/custom-tools.ts';
import { anthropicReasoning, type ReasoningDetail } from '../translation/reasoning.ts';
import { annotationOf } from './anthropic-response-to-openai.ts';

/** A tool call whose block has not ended. */
interface OpenCall {
  /** Index among the tool calls of the response. */
  readonly index: number;
  hasArguments: boolean;
  /** Arguments of a custom tool, which are sent as a whole; null for a function. */
  input: string | null;
}

/** Returns null where a delta of a chat would say nothing. */
export class BlockDeltas {
  readonly #customTools: ReadonlySet<string> | undefined;
  /** Open calls by the index of their block. */
  readonly #openCalls = new Map<unknown, OpenCall>();
  #callCount = 0;
  /** Indexes in `reasoning_details` by the index of the block. */
  readonly #reasoning = new Map<unknown, number>();
  #textChars = 0;
  /** Start of the open text block in the text of the response. */
  #textStart = 0;

  constructor(customTools: ReadonlySet<string> | undefined) {
    this.#customTools = customTools;
  }

  start(index: unknown, block: DocumentNode): Json | null {
    const type = block.at('type').value;
    if (type === 'text') {
      this.#textStart = this.#textChars;
      const text = block.at('text');
      return text.isAbsent || text.value === '' ? null : this.#text(text.text());
    }
    if (type === 'thinking' || type === 'redacted_thinking') return this.#think(index, block);
    return type === 'tool_use' ? this.#startCall(index, block) : null;
  }

  #text(text: string): Json {
    this.#textChars += text.length;
    return { content: text };
  }

  #think(index: unknown, block: DocumentNode): Json | null {
    this.#reasoning.set(index, this.#reasoning.size);
    if (block.at('type').value === 'redacted_thinking') {
      return this.#reasoningDelta(index, {
        type: 'reasoning.encrypted',
        data: block.at('data').text(),
      });
    }
    const text = block.at('thinking');
    return text.isAbsent || text.value === '' ? null : this.#thought(index, text.text());
  }

  #thought(index: unknown, text: string): Json {
    return this.#reasoningDelta(index, { type: 'reasoning.text', text });
  }

  #reasoningDelta(index: unknown, detail: ReasoningDetail): Json {
    const at = this.#reasoning.get(index) ?? 0;
    const { text } = detail;
    return {
      ...(text === undefined ? {} : { reasoning_content: text }),
      reasoning_details: [{ ...detail, format: anthropicReasoning, index: at }],
    };
  }

  #startCall(index: unknown, block: DocumentNode): Json {
    const name = block.at('name').text();
    const isCustom = this.#customTools?.has(name) === true;
    const call: OpenCall = {
      index: this.#callCount,
      hasArguments: false,
      input: isCustom ? '' : null,
    };
    this.#callCount += 1;
    this.#openCalls.set(index, call);
    const { value: input } = block.at('input');
    const isWhole = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
    call.hasArguments = isWhole;
    const id = block.at('id').text();
    if (isCustom) {
      call.input = isWhole ? JSON.stringify(input) : '';
      return this.#callDelta(call, { id, type: 'custom', custom: { name, input: '' } });
    }
    return this.#callDelta(call, {
      id,
      type: 'function',
      function: { name, arguments: isWhole ? JSON.stringify(input) : '' },
    });
  }

  add(index: unknown, delta: DocumentNode): Json | null {
    const type = delta.at('type').value;
    switch (type) {
      case 'text_delta':
        return this.#text(delta.at('text').text());
      case 'thinking_delta':
        return this.#thought(index, delta.at('thinking').text());
      case 'signature_delta': {
        const signature = delta.at('signature').text();
        return this.#reasoningDelta(index, { type: 'reasoning.text', signature });
      }
      case 'citations_delta': {
        const annotations = annotationOf(delta.at('citation'), this.#textStart, this.#textChars);
        return annotations.length === 0 ? null : { annotations };
      }
      case 'input_json_delta':
        return this.#argumentsDelta(index, delta);
      default:
        return null;
    }
  }

  #argumentsDelta(index: unknown, delta: DocumentNode): Json | null {
    const call = this.#openCalls.get(index);
    const part = delta.at('partial_json').text();
    if (call === undefined || part === '') return null;
    call.hasArguments = true;
    if (call.input !== null) {
      call.input += part;
      return null;
    }
    return this.#callDelta(call, { function: { arguments: part } });
  }

  /** Sends an empty object when a call has no arguments. */
  stop(index: unknown): Json | null {
    const call = this.#openCalls.get(index);
    this.#openCalls.delete(index);
    if (call === undefined) return null;
    if (call.input !== null) {
      return this.#callDelta(call, { custom: { input: customToolInput(call.input) } });
    }
    if (call.hasArguments) return null;
    return this.#callDelta(call, { function: { arguments: '{}' } });
  }

  #callDelta({ index }: OpenCall, call: Json): Json {
    return { tool_calls: [{ index, ...call }] };
  }
}
