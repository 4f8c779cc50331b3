/** Translates the events of ConverseStream of Amazon Bedrock to OpenAI chat chunks. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
  type TranslationContext,
} from '../translation/translation.ts';
import {
  chatError,
  converseFinish,
  converseUsage,
  newChatId,
  reasoningDetail,
} from './converse-response-to-chat.ts';

/** A tool call whose block has not ended. */
interface OpenCall {
  readonly index: number;
  hasArguments: boolean;
}

export class ConverseChatEvents implements EventTranslation {
  readonly #about: TranslationContext;
  readonly #head: Json;
  /** Open calls by the index of their block. */
  readonly #openCalls = new Map<unknown, OpenCall>();
  #callCount = 0;
  #hasStopped = false;
  #isOver = false;

  constructor(about: TranslationContext) {
    this.#about = about;
    this.#head = {
      id: newChatId(),
      object: 'chat.completion.chunk',
      created: Math.floor(about.now / 1000),
      model: about.model ?? '',
    };
  }

  pass(event: Json): string {
    if (this.#isOver) return '';
    if (event.type === 'error')
      return this.fail(parseProviderFault(event, 200)?.message ?? brokenOff);
    const [name = '', body] = Object.entries(event)[0] ?? [];
    const node = new DocumentNode(body, new DocumentNode(event), `.${name}`);
    switch (name) {
      case 'messageStart':
        return this.#delta({ role: 'assistant', content: '', refusal: null });
      case 'contentBlockStart':
        return this.#start(node);
      case 'contentBlockDelta':
        return this.#deltaOf(node);
      case 'contentBlockStop':
        return this.#stopBlock(node);
      case 'messageStop':
        this.#hasStopped = true;
        return this.#delta({}, converseFinish(node.at('stopReason').value));
      case 'metadata':
        return this.#metadata(node);
      default:
        return '';
    }
  }

  done(): string {
    return '';
  }

  /** The metadata is the last event; a stream that ends without it but after its stop is complete, too. */
  end(): string {
    if (this.#isOver) return '';
    if (!this.#hasStopped) return this.fail(brokenOff);
    this.#isOver = true;
    return lastEvent;
  }

  fail(message: string): string {
    this.#isOver = true;
    return eventOf(chatError({ message, type: null, status: 200 }));
  }

  #start(event: DocumentNode): string {
    const start = event.at('start');
    if (start.isAbsent || start.at('toolUse').isAbsent) return '';
    const use = start.at('toolUse');
    const call: OpenCall = { index: this.#callCount, hasArguments: false };
    this.#callCount += 1;
    this.#openCalls.set(event.json().contentBlockIndex, call);
    const called = { name: use.at('name').text(), arguments: '' };
    const { index } = call;
    const opened = { index, id: use.at('toolUseId').text(), type: 'function', function: called };
    return this.#delta({ tool_calls: [opened] });
  }

  #deltaOf(event: DocumentNode): string {
    const { contentBlockIndex } = event.json();
    const delta = event.at('delta');
    const { text, toolUse, reasoningContent } = delta.json();
    if (text !== undefined) return this.#delta({ content: delta.at('text').text() });
    if (toolUse !== undefined) {
      const call = this.#openCalls.get(contentBlockIndex);
      const part = delta.at('toolUse').at('input').text();
      if (call === undefined || part === '') return '';
      call.hasArguments = true;
      return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: part } }] });
    }
    return reasoningContent === undefined
      ? ''
      : this.#reasoning(delta.at('reasoningContent').json(), Number(contentBlockIndex));
  }

  #reasoning({ text, signature, redactedContent: data }: Json, index: number): string {
    const members = Object.entries({ text, signature, data }).filter(([, value]) => Boolean(value));
    if (members.length === 0) return '';
    const details = [reasoningDetail(index, Object.fromEntries(members))];
    const words = typeof text === 'string' ? { reasoning_content: text } : {};
    return this.#delta({ ...words, reasoning_details: details });
  }

  /** Sends an empty object when a call has no arguments. */
  #stopBlock(event: DocumentNode): string {
    const { contentBlockIndex: at } = event.json();
    const call = this.#openCalls.get(at);
    this.#openCalls.delete(at);
    if (call === undefined || call.hasArguments) return '';
    return this.#delta({ tool_calls: [{ index: call.index, function: { arguments: '{}' } }] });
  }

  #metadata(event: DocumentNode): string {
    this.#isOver = true;
    const { trace } = event.json();
    const usage = converseUsage(event.at('usage').json());
    const traced = trace === undefined ? {} : { trace };
    if (!this.#about.wantsUsage) return lastEvent;
    return eventOf({ ...this.#head, choices: [], usage, ...traced }) + lastEvent;
  }

  #delta(delta: Json, finish: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    const usage = this.#about.wantsUsage ? { usage: null } : {};
    return eventOf({ ...this.#head, choices, ...usage });
  }
}

const lastEvent = 'data: [DONE]\n\n';

function eventOf(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
