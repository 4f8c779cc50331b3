/** Emits the content blocks of a streamed message of Anthropic. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import {
  anthropicReasoning,
  joinDetails,
  packDetails,
  type ReasoningDetail,
  reasoningText,
  textOfDetail,
  unsigned,
} from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import { thinkingBlock } from './openai-response-to-anthropic.ts';

/** The open block; a call is identified by index and id. */
type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'thinking'; readonly details: ReasoningDetail[] }
  | { readonly kind: 'call'; readonly index: unknown; readonly id: unknown };

export class AnthropicBlocks {
  open: OpenBlock | null = null;
  /** Number of begun blocks. */
  count = 0;
  /** Signatures that arrived within a text, and follow it. */
  #late: ReasoningDetail[] = [];

  /** Emits reasoning as blocks of thinking. */
  reasoning(delta: DocumentNode): string {
    const details = detailsOfReply(delta.json());
    const text = reasoningText(delta.json()) || details.map(textOfDetail).join('');
    if (text === '' && details.length === 0) return '';
    if (text === '' && this.open?.kind === 'text') {
      this.#late.push(...details);
      return '';
    }
    const only = details.length === 1 ? details[0] : undefined;
    if (only?.type === 'reasoning.encrypted' && only.format === anthropicReasoning) {
      return (
        this.start({ kind: 'text' }, { type: 'redacted_thinking', data: only.data }) + this.close()
      );
    }
    const open = this.open;
    const isOpen = open?.kind === 'thinking' && !startsAnother(open.details, details);
    const startEvents = isOpen
      ? ''
      : this.start({ kind: 'thinking', details: [] }, thinkingBlock('', ''));
    (this.open as { readonly details: ReasoningDetail[] }).details.push(...details);
    return text === ''
      ? startEvents
      : startEvents + this.delta({ type: 'thinking_delta', thinking: text });
  }

  start(block: OpenBlock, content: Json): string {
    const closed = this.close();
    this.open = block;
    this.count += 1;
    return (
      closed + anthropicEvent('content_block_start', { index: this.#at, content_block: content })
    );
  }

  delta(delta: Json): string {
    return anthropicEvent('content_block_delta', { index: this.#at, delta });
  }

  close(): string {
    const open = this.open;
    if (open === null) return '';
    this.open = null;
    const signed =
      open.kind === 'thinking'
        ? this.delta({ type: 'signature_delta', signature: signatureOf(open.details) })
        : '';
    return signed + anthropicEvent('content_block_stop', { index: this.#at }) + this.#addLate();
  }

  #addLate(): string {
    const details = this.#late;
    if (details.length === 0) return '';
    this.#late = [];
    return this.start({ kind: 'thinking', details }, thinkingBlock('', '')) + this.close();
  }

  /** Index of the last block. */
  get #at(): number {
    return this.count - 1;
  }
}

/** Whether signed details belong to another block of Anthropic than the open one. */
function startsAnother(
  open: readonly ReasoningDetail[],
  details: readonly ReasoningDetail[],
): boolean {
  const [last, next] = [open.at(-1), details[0]];
  return (
    last?.format === anthropicReasoning &&
    next?.format === anthropicReasoning &&
    last.index !== next.index
  );
}

/** The signature of Anthropic, or what must return to another provider. */
function signatureOf(details: readonly ReasoningDetail[]): string {
  if (details.length === 0) return unsigned;
  if (details.every(({ format }) => format === anthropicReasoning)) {
    return details.map(({ signature }) => signature ?? '').join('') || unsigned;
  }
  return packDetails(joinDetails(details));
}

export function anthropicEvent(type: string, data: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
