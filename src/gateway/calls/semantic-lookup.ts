/** Finds the answer to a question with the same meaning, within a bounded time, and stores new answers. */
import type { SemanticSettings } from '../../model/configs/cache-settings.ts';
import type { SemanticAnswers, SemanticQuestion } from '../../objects/semantic/semantic-answers.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { isCompleteStream } from '../transfer/captured-stream.ts';
import { answerScopeOf, type CacheQuestion, hashOfText } from './question.ts';
import {
  type CachedResponse,
  isRefresh,
  isSuccess,
  plainType,
  type WholeResponse,
} from './response-cache.ts';

/** Returns a unit vector; null when the model does not respond with one. Never rejects. */
type EmbedQuestion = (
  target: ResolvedTarget,
  text: string,
  signal: AbortSignal,
) => Promise<Float32Array | null>;

export interface SemanticLookupTerms {
  readonly answers: SemanticAnswers;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly settings: SemanticSettings;
  readonly maxAgeMs: number;
  readonly question: CacheQuestion;
  readonly embed: EmbedQuestion;
}

/** Bound of one stored response. */
export const storedAnswerBytesMax = 128 * 1024;

export class SemanticLookup {
  readonly isRefresh: boolean;
  readonly #terms: SemanticLookupTerms;
  /** Null until the question has been embedded. */
  #embedded: SemanticQuestion | null = null;

  constructor(terms: SemanticLookupTerms) {
    this.#terms = terms;
    this.isRefresh = isRefresh(terms.exchange);
  }

  /** Null when nothing is found in time, whatever the reason; a refresh only prepares {@link add}. */
  async find(target: ResolvedTarget): Promise<CachedResponse | null> {
    const { timeoutMs } = this.#terms.settings;
    const ended = new AbortController();
    const { promise: timeout, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => {
      resolve(null);
      ended.abort();
    }, timeoutMs);
    try {
      return await Promise.race([this.#find(target, ended.signal).catch(() => null), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #find(target: ResolvedTarget, signal: AbortSignal): Promise<CachedResponse | null> {
    const { answers, exchange, config, settings, maxAgeMs, question, embed } = this.#terms;
    const { threshold, scope, provider, model } = settings;
    const vector = await embed(target, question.text, signal);
    if (vector === null || signal.aborted) return null;
    const { key, now } = exchange;
    const embedding = `${provider ?? ''} ${model}`;
    const embedded = {
      organisationId: key.organisationId,
      workspaceId: key.workspace?.id ?? '',
      scope: answerScopeOf(question, { target, exchange, config, scope, embedding }),
      hash: hashOfText(question.text),
      vector,
    };
    this.#embedded = embedded;
    if (this.isRefresh) return null;
    const found = await answers.find(embedded, { threshold, since: now - maxAgeMs + 1 });
    return found && { ...found, cachedAt: now };
  }

  /** Stores a complete, successful response; ignores any other. */
  add(response: WholeResponse): void {
    const { answers, exchange, maxAgeMs } = this.#terms;
    const contentType = plainType(response);
    const { status, body } = response;
    if (this.#embedded === null || contentType === null || body.length > storedAnswerBytesMax)
      return;
    if (!isCompleteAnswer(contentType, body)) return;
    answers.add(this.#embedded, { status, contentType, body }, exchange.now, maxAgeMs);
  }
}

function isCompleteAnswer(contentType: string, body: Buffer): boolean {
  if (contentType.startsWith('application/json')) return isSuccess(body);
  return contentType.startsWith('text/event-stream') && isCompleteStream(body);
}
