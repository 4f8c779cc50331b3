/** Answers a request to count tokens in place of a provider that does not count them. */
import { converseCountPath } from '../../model/services/bedrock-models.ts';
import type { Exchange } from '../callers/exchange.ts';
import { estimateInput } from '../metering/input-estimate.ts';
import { noUsage } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { type CompleteOutcome, localOutcome } from './outcome.ts';

/** Marks the count in a response header (see response-headers.ts). */
export function estimatedCount(
  target: ResolvedTarget,
  { body, path }: Pick<Exchange, 'body' | 'path'>,
): CompleteOutcome {
  const tokens = estimateInput(target.params, body ?? Buffer.alloc(0));
  return localOutcome(target, {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(answerAt(path, tokens))),
    metered: noUsage,
    cost: null,
    providerStatus: null,
  });
}

function answerAt(path: string, tokens: number): object {
  if (path === '/messages/count_tokens' || path === converseCountPath)
    return { input_tokens: tokens };
  if (path === '/v1beta/models:countTokens') return { totalTokens: tokens };
  return { object: inputTokensObject, input_tokens: tokens };
}

const inputTokensObject = 'response.input_tokens';
