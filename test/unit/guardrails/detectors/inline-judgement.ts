/** Judges texts by inline guardrails, for the tests of detectors. */
import { evaluateGuardrails, type Judgement } from '../../../../src/guardrails/evaluate.ts';
import { buildGuardrail, readInlineGuardrail } from '../../../../src/guardrails/guardrail.ts';
import { Searches } from '../../../../src/guardrails/searches.ts';
import { Origins } from '../../../../src/upstream/origins.ts';
import { Outbound } from '../../../../src/upstream/outbound.ts';
import { chatSubject } from '../../../support/guardrails/chat-subject.ts';

/** Judges texts with real checks; disposal ends their threads. */
export class InlineJudge implements AsyncDisposable {
  readonly #searches = new Searches();
  readonly #origins = new Origins([]);
  readonly #outbound = new Outbound(this.#origins, []);

  /** Judges texts as the passages of one message. */
  judge(item: Record<string, unknown>, ...texts: readonly string[]): Promise<Judgement> {
    const tools = { searches: this.#searches, outbound: this.#outbound };
    const guardrail = buildGuardrail(readInlineGuardrail(item, 'one'), tools);
    const passages = texts.map((text, at) => ({ path: ['messages', 0, 'content', at], text }));
    const subject = { ...chatSubject, passages, lastCount: passages.length };
    return evaluateGuardrails([guardrail], subject, 0);
  }

  /** The texts after all replacements. */
  async redact(item: Record<string, unknown>, ...texts: readonly string[]): Promise<string[]> {
    const { passages } = await this.judge(item, ...texts);
    return passages.map(({ text }) => text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#searches[Symbol.dispose]();
    await this.#origins[Symbol.asyncDispose]();
  }
}
