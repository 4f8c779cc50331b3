/** Translates the events of Gemini's `streamGenerateContent` to chunks of a chat. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
  type TranslationContext,
} from '../translation/translation.ts';
import { chatFinishReason, refusalOf } from './finish-reasons.ts';
import {
  blockOf,
  chatHead,
  logprobsOf,
  newCounts,
  type PartCounts,
  readParts,
} from './gemini-response-to-chat.ts';
import { chatUsage } from './usage.ts';

/** How far one candidate has come. */
interface Progress {
  readonly counts: PartCounts;
  isFinished: boolean;
}

export class ChatEvents implements EventTranslation {
  readonly #about: TranslationContext;
  /** Members of every chunk; null before the first event. */
  #head: ({ readonly id: string } & Json) | null = null;
  #usage: Json = {};
  readonly #candidates = new Map<unknown, Progress>();
  #isOver = false;

  constructor(about: TranslationContext) {
    this.#about = about;
  }

  pass(event: Json): string {
    if (this.#isOver) return '';
    const answer = new DocumentNode(event);
    const fault = parseProviderFault(event, 500);
    if (fault !== null) return this.fail(fault.message);
    this.#head ??= { ...chatHead(answer, this.#about.now), object: 'chat.completion.chunk' };
    const usage = answer.at('usageMetadata');
    if (!usage.isAbsent) this.#usage = usage.json();
    const candidates = answer.at('candidates');
    if (!candidates.isAbsent) {
      return candidates
        .items()
        .map((candidate, at) => this.#candidate(candidate, at))
        .join('');
    }
    const refusal = blockOf(answer);
    return refusal === null ? '' : this.#blocked(refusal);
  }

  done(): string {
    return '';
  }

  /** Google ends a stream without a mark: it is complete when every candidate has a reason for its end. */
  end(): string {
    if (this.#isOver) return '';
    const all = [...this.#candidates.values()];
    if (all.length === 0 || all.some(({ isFinished }) => !isFinished)) return this.fail(brokenOff);
    this.#isOver = true;
    const done = 'data: [DONE]\n\n';
    if (!this.#about.wantsUsage) return done;
    return eventOf({ ...this.#head, choices: [], usage: chatUsage(this.#usage) }) + done;
  }

  fail(message: string): string {
    this.#isOver = true;
    return eventOf({ error: { message, type: 'api_error', param: null, code: null } });
  }

  #candidate(candidate: DocumentNode, at: number): string {
    const index = candidate.at('index').value ?? at;
    const known = this.#candidates.get(index);
    const progress = known ?? { counts: newCounts(), isFinished: false };
    const { counts } = progress;
    const firstCall = counts.calls;
    this.#candidates.set(index, progress);
    const begin = known === undefined ? { role: 'assistant', content: '', refusal: null } : null;
    const { texts, thoughts, details, calls, images } = readParts(
      candidate,
      `${this.#head!.id}_${index}`,
      counts,
    );
    const deltas: Json[] = begin === null ? [] : [begin];
    if (thoughts.length > 0 || details.length > 0) {
      deltas.push({
        ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('') }),
        ...(details.length === 0 ? {} : { reasoning_details: details }),
      });
    }
    if (texts.length > 0) deltas.push({ content: texts.join('') });
    if (images.length > 0) deltas.push({ images });
    if (calls.length > 0) {
      const numbered = calls.map((call, more) => ({ index: firstCall + more, ...call }));
      deltas.push({ tool_calls: numbered });
    }
    const logprobs = logprobsOf(candidate.at('logprobsResult'));
    const sent = deltas.map((delta, place) =>
      this.#chunk(index, delta, null, place === deltas.length - 1 ? logprobs : null),
    );
    return sent.join('') + this.#finish(candidate, index, progress);
  }

  #finish(candidate: DocumentNode, index: unknown, progress: Progress): string {
    const finish = candidate.at('finishReason');
    if (finish.isAbsent || progress.isFinished) return '';
    progress.isFinished = true;
    const reason = finish.text();
    const refusal = refusalOf(reason, candidate.at('finishMessage').value);
    const delta = refusal === null ? {} : { refusal };
    return this.#chunk(index, delta, chatFinishReason(reason, progress.counts.calls > 0));
  }

  #blocked(refusal: string): string {
    this.#candidates.set(0, { counts: newCounts(), isFinished: true });
    return this.#chunk(0, { role: 'assistant', content: null, refusal }, 'content_filter');
  }

  #chunk(index: unknown, delta: Json, finish: string | null, logprobs: Json | null = null): string {
    const choices = [{ index, delta, logprobs, finish_reason: finish }];
    const usage = this.#about.wantsUsage ? { usage: null } : {};
    return eventOf({ ...this.#head, choices, ...usage });
  }
}

function eventOf(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
