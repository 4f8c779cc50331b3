/** Finds out what strategies need to know about the targets of a request: cost, context window, errors. */
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { knownContextWindow } from '../../model/pricing/context-window.ts';
import { costBound } from '../metering/expected-cost.ts';
import { estimateInput } from '../metering/input-estimate.ts';
import type { SelectionTerms } from '../strategies/select-target.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { judgedOutcome, type LiveOutcome, type TargetOutcome } from './outcome.ts';
import type { CallContext } from './request-context.ts';
import { isFailure, readWholeResponse } from './whole-response.ts';

/** The request for which targets are compared. */
type ComparedRequest = Pick<CallContext, 'services' | 'config' | 'exchange'>;

export function selectionTermsOf(context: ComparedRequest): SelectionTerms {
  const { services, config, exchange } = context;
  const { params, body, now } = exchange;
  return {
    statistics: services.targetStatistics,
    mark: config.mark,
    form: params.stream === true ? 'stream' : 'whole',
    facts: {
      costOf: async (leaf) => {
        const target = await callableTarget(context, leaf);
        return target && costBound(target, now);
      },
      windowOf: async (leaf) => {
        const { contextWindow } = leaf.settings;
        if (contextWindow !== null) return contextWindow;
        const target = await callableTarget(context, leaf);
        return target && knownContextWindow(target.pricing.service, target.pricing.model, now);
      },
      inputTokens: () => estimateInput(params, body ?? Buffer.alloc(0)),
    },
  };
}

/** Null for a target that cannot be called; the error is reported when it is called nevertheless. */
async function callableTarget(
  { services, config, exchange }: ComparedRequest,
  leaf: ConfigLeaf,
): Promise<ResolvedTarget | null> {
  try {
    return await services.targets.resolve(leaf, exchange, config);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return null;
    throw thrown;
  }
}

/** Codes and texts by which providers say that a prompt is longer than the context window. */
const tooLong =
  /context_length_exceeded|context[ _]window|maximum context|context length|prompt is too long|input is too long|too many (?:input )?tokens|exceeds? the (?:maximum|model's|limit)[^"]{0,60}tokens/i;

/** Reads an error completely, so that it can still be sent to the caller. */
export async function readContextError(
  { calls, caller }: CallContext,
  live: LiveOutcome,
): Promise<{ readonly outcome: TargetOutcome; readonly isTooLong: boolean }> {
  const options = { calls, caller, onBytes: null, outlivesCaller: false };
  const read = await readWholeResponse(live, options);
  if (isFailure(read)) return { outcome: read, isTooLong: false };
  const { headers, body, metered, cost } = read;
  const { status, verdict } = live;
  const response = { status, headers, body, metered, cost, providerStatus: status };
  const outcome = judgedOutcome(live, response, verdict);
  return { outcome, isTooLong: tooLong.test(body.toString('utf8')) };
}
