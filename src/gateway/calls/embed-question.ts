/** Embeds the question of a request by a call of its own, under the same limits and with a log entry of its own. */
import type { SemanticSettings } from '../../model/configs/cache-settings.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { readJson } from '../../model/json/read-object.ts';
import { monotonicMs } from '../../monotonic.ts';
import { onlyVector } from '../../objects/ingestion/embeddings.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { Caller } from '../transfer/caller.ts';
import { SignalReceiver } from '../transfer/signal-receiver.ts';
import { gatewayErrorOf } from './error-response.ts';
import { questionOf } from './question.ts';
import { RecordDraft } from './record-draft.ts';
import type { CallContext } from './request-context.ts';
import { isCacheable, namespaceOf } from './response-cache.ts';
import { SemanticLookup } from './semantic-lookup.ts';
import { isFailure, readWholeResponse } from './whole-response.ts';

const path = '/embeddings';

/**
 * The semantic cache for a request; null when its target does not use it.
 *
 * @throws GatewayError when the namespace is too long
 */
export function semanticLookupOf(
  context: CallContext,
  leaf: ConfigLeaf,
  exchange: Exchange,
): SemanticLookup | null {
  const { cache } = leaf.settings;
  const settings = cache?.semantic ?? null;
  if (cache === null || settings === null || !isCacheable(exchange)) return null;
  namespaceOf(exchange);
  const question = questionOf(exchange, leaf.settings);
  if (question === null) return null;
  return new SemanticLookup({
    answers: context.services.semanticAnswers,
    exchange,
    config: context.config,
    settings,
    maxAgeMs: cache.maxAgeSeconds * 1000,
    question,
    embed: (target, text, signal) =>
      embedText(context, embeddingLeaf(leaf, target, settings), exchange, {
        text,
        model: settings.model,
        hasOwnProvider: settings.provider !== null,
        signal,
      }),
  });
}

interface EmbeddingTerms {
  readonly text: string;
  readonly model: string;
  /** Whether the embeddings come from another provider than the response. */
  readonly hasOwnProvider: boolean;
  readonly signal: AbortSignal;
}

/** The question has been judged with its request, so no guardrail judges it again. */
async function embedText(
  context: CallContext,
  leaf: ConfigLeaf,
  exchange: Exchange,
  terms: EmbeddingTerms,
): Promise<Float32Array | null> {
  const { services, config } = context;
  const { key, now } = exchange;
  const draft = new RecordDraft(
    { id: exchange.id, path, beganMs: monotonicMs() },
    now,
    null,
    false,
  );
  const request = embeddingExchange(exchange, terms);
  const caller = new Caller(new SignalReceiver(terms.signal));
  const calls = context.calls.fork(request, caller);
  Object.assign(draft, { key, config, exchange: request, calls });
  let status = 500;
  let vector: Float32Array | null = null;
  try {
    const outcome = await calls.call(leaf, request, null);
    draft.setOutcome(outcome);
    status = outcome.status;
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'live') {
      const options = { calls, caller, onBytes: null, outlivesCaller: false };
      const read = await readWholeResponse(outcome, options);
      draft.metered = read.metered;
      if (isFailure(read)) throw read.error;
      if (status >= 200 && status <= 299) vector = onlyVector(readJson(read.body.toString('utf8')));
    }
  } catch (thrown) {
    const error = gatewayErrorOf(services, exchange.id, thrown);
    draft.error = error;
    status = error.status;
  } finally {
    calls.close();
  }
  services.record(draft.toRecord(status));
  return vector;
}

/** The provider of the target is called with everything that its own calls use, another one with its credential only. */
function embeddingLeaf(
  { path: targetPath, settings, ...leaf }: ConfigLeaf,
  { provider: targetProvider }: ResolvedTarget,
  { provider, timeoutMs }: SemanticSettings,
): ConfigLeaf {
  const from =
    provider === null
      ? { ...settings, provider: targetProvider }
      : {
          ...settings,
          provider,
          apiKey: null,
          customHost: null,
          account: {},
          forwardHeaders: null,
        };
  return {
    ...leaf,
    path: `${targetPath}.cache.embedding`,
    breaker: null,
    settings: {
      ...from,
      virtualKey: null,
      isPassthrough: false,
      defaultParams: null,
      overrideParams: null,
      dropParams: null,
      retry: null,
      cache: null,
      guardrails: null,
      requestTimeoutMs: timeoutMs,
    },
  };
}

function embeddingExchange(
  exchange: Exchange,
  { text, model, hasOwnProvider }: EmbeddingTerms,
): Exchange {
  const params = { model, input: text, encoding_format: 'float' };
  return {
    id: exchange.id,
    request: { method: 'POST', headers: { 'content-type': 'application/json' } },
    header: exchange.header,
    headerPrefix: exchange.headerPrefix,
    path,
    query: '',
    errorForm: 'openai',
    now: exchange.now,
    key: exchange.key,
    sentKey: exchange.sentKey,
    // A credential of the caller is meant for the provider that the request names.
    credential: hasOwnProvider ? null : exchange.credential,
    body: Buffer.from(JSON.stringify(params)),
    params,
    isJson: true,
    metadata: exchange.metadata,
  };
}
