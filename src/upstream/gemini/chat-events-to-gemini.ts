/** Translates the chunks of a chat to the events of Gemini's `streamGenerateContent`. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import { signatureOfCall } from '../translation/thought-signatures.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
} from '../translation/translation.ts';
import {
  answerHead,
  functionCallPart,
  hasRefusal,
  textSignature,
  thoughtParts,
} from './chat-response-to-gemini.ts';
import { geminiFinishReason } from './finish-reasons.ts';
import { geminiError } from './gemini-errors.ts';
import { geminiUsage } from './usage.ts';

/** A call whose arguments are arriving: Gemini's events contain whole calls only. */
interface OpenCall {
  readonly index: unknown;
  readonly id: string | null;
  readonly name: string;
  readonly signature: string | undefined;
  text: string;
}

/** How far one choice has come. */
interface Progress {
  open: OpenCall | null;
  signature: string | null;
  hasRefused: boolean;
  /** Finish reason of the choice; null before it has one. */
  reason: unknown;
}

function newProgress(): Progress {
  return { open: null, signature: null, hasRefused: false, reason: null };
}

export class GeminiEvents implements EventTranslation {
  #head: Json | null = null;
  #usage: Json | null = null;
  readonly #choices = new Map<unknown, Progress>();
  #isOver = false;

  pass(chunk: Json): string {
    if (this.#isOver) return '';
    const place = new DocumentNode(chunk);
    const fault = parseProviderFault(chunk, 500);
    if (fault !== null) return this.fail(fault.message);
    const usage = place.at('usage');
    if (!usage.isAbsent) this.#usage = usage.json();
    const choices = place.at('choices');
    if (choices.isAbsent) return '';
    this.#head ??= answerHead(place);
    return choices
      .items()
      .map((choice, at) => this.#choice(choice, at))
      .join('');
  }

  done(): string {
    if (this.#isOver) return '';
    if (this.#choices.size === 0) return this.fail(brokenOff);
    this.#isOver = true;
    const candidates = [...this.#choices].map(([index, progress]) => {
      const { reason, signature, hasRefused } = progress;
      const parts = this.#closed(progress);
      const signed = signature === null ? [] : [{ text: '', thoughtSignature: signature }];
      const content = { role: 'model', parts: [...parts, ...signed] };
      const filled =
        content.parts.length === 0 ? { role: 'model', parts: [{ text: '' }] } : content;
      return { content: filled, finishReason: geminiFinishReason(reason, hasRefused), index };
    });
    return eventOf({ candidates, usageMetadata: geminiUsage(this.#usage ?? {}), ...this.#head });
  }

  /** Some compatible services omit `[DONE]`. */
  end(): string {
    if (this.#isOver) return '';
    const all = [...this.#choices.values()];
    const isWhole = all.length > 0 && all.every(({ reason }) => reason !== null);
    return isWhole ? this.done() : this.fail(brokenOff);
  }

  fail(message: string): string {
    this.#isOver = true;
    return eventOf(geminiError({ message, type: null, status: 500 }));
  }

  #choice(choice: DocumentNode, at: number): string {
    const index = choice.at('index').value ?? at;
    const progress = this.#choices.get(index) ?? newProgress();
    this.#choices.set(index, progress);
    const delta = choice.at('delta');
    const parts = delta.isAbsent ? [] : this.#parts(delta, progress);
    const reason = choice.at('finish_reason');
    if (!reason.isAbsent) progress.reason = reason.value;
    if (parts.length === 0) return '';
    return eventOf({ candidates: [{ content: { role: 'model', parts }, index }], ...this.#head });
  }

  #parts(delta: DocumentNode, progress: Progress): Json[] {
    const parts = thoughtParts(delta);
    progress.hasRefused ||= hasRefusal(delta);
    progress.signature ??= textSignature(delta.at('reasoning_details'));
    for (const name of ['content', 'refusal']) {
      const text = delta.at(name);
      if (!text.isAbsent && text.text() !== '') parts.push({ text: text.text() });
    }
    const calls = delta.at('tool_calls');
    if (calls.isAbsent) return parts;
    for (const [at, call] of calls.items().entries()) {
      parts.push(...this.#call(call, at, progress));
    }
    return parts;
  }

  /** Returns the call before it, if this one is new. */
  #call(call: DocumentNode, at: number, progress: Progress): Json[] {
    const index = call.at('index').value ?? at;
    const id = call.at('id');
    const called = call.at('function');
    const text = called.isAbsent ? called : called.at('arguments');
    const piece = text.isAbsent ? '' : text.text();
    const { open } = progress;
    const isNew =
      open === null ||
      open.index !== index ||
      !(id.isAbsent || id.value === '' || id.value === open.id);
    if (!isNew) {
      open.text += piece;
      return [];
    }
    const before = this.#closed(progress);
    progress.open = {
      index,
      id: id.isAbsent || id.value === '' ? null : id.text(),
      name: called.at('name').text(),
      signature: signatureOfCall(call.at('extra_content').value),
      text: piece,
    };
    return before;
  }

  #closed(progress: Progress): Json[] {
    const { open } = progress;
    if (open === null) return [];
    progress.open = null;
    const { id, name, text, signature } = open;
    return [functionCallPart(id, name, new DocumentNode(text, null, '.arguments'), signature)];
  }
}

function eventOf(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
