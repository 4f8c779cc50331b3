/** Knows how the gateway asks a model itself, in the name of a caller: by its config, within its limits, through its guardrails, into the log. */
import type { IncomingMessage } from 'node:http';
import { newId } from '../../model/ids.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { ModelAnswer, ModelCallOptions, ModelCalls } from '../../objects/model-calls.ts';
import { EventReader } from '../../upstream/dialects/event-reader.ts';
import type { Exchange } from '../callers/exchange.ts';
import { GuardedCalls } from '../calls/guarded-calls.ts';
import { ProviderCalls } from '../calls/provider-calls.ts';
import { wholeAnswer } from '../calls/whole-answer.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import { Caller } from '../transfer/caller.ts';
import { errorFormOf } from '../transfer/error-form.ts';
import { gatewayErrorBody } from '../transfer/gateway-error.ts';
import { isEventStream } from '../transfer/relay.ts';
import { Wanted } from '../transfer/wanted.ts';
import { type Calling, Findings, type Pipeline } from './calling.ts';
import { recordOf, refusalOf } from './pipeline.ts';
import { attemptOf } from './send-back.ts';

/** In whose name a model is asked. */
interface Asker
  extends Pick<
    Exchange,
    'key' | 'header' | 'headerPrefix' | 'metadata' | 'credential' | 'sentKey'
  > {
  readonly config: GatewayConfig;
  /** Of the request that it comes of; what is said of that one's body is passed over. */
  readonly headers: IncomingMessage['headers'];
}

export interface InnerCallsOptions {
  readonly pipeline: Pipeline;
  /** Tells `found` the key and the config as soon as they are known. @throws GatewayError */
  readonly askerOf: (found: Findings, now: number, id: string) => Asker | Promise<Asker>;
}

export class InnerCalls implements ModelCalls {
  readonly #options: InnerCallsOptions;

  constructor(options: InnerCallsOptions) {
    this.#options = options;
  }

  async call(
    path: string,
    params: Readonly<Record<string, unknown>>,
    options: ModelCallOptions = {},
  ): Promise<ModelAnswer> {
    const { pipeline } = this.#options;
    const request: InnerRequest = { id: newId(), path, params, now: pipeline.now() };
    const beganMs = monotonicMs();
    const found = new Findings(null);
    const answer = await this.#answerTo(request, found, options).catch((thrown: unknown) => {
      found.error = refusalOf(pipeline, request.id, thrown);
      const body: unknown = JSON.parse(gatewayErrorBody(found.error, 'openai'));
      return { status: found.error.status, body };
    });
    const response = { statusCode: answer.status };
    pipeline.record(recordOf({ id: request.id, path, beganMs, response }, found, request.now));
    return answer;
  }

  async #answerTo(
    request: InnerRequest,
    found: Findings,
    options: ModelCallOptions,
  ): Promise<ModelAnswer> {
    const { pipeline, askerOf } = this.#options;
    const asker = await askerOf(found, request.now, request.id);
    const { config } = asker;
    const exchange = exchangeOf(asker, request);
    found.exchange = exchange;
    const policies = await pipeline.policies.of(asker.key.organisationId);
    const caller = new Caller(new Wanted(options.signal));
    const calls = new ProviderCalls(pipeline, { exchange, config, policies, caller, trace: null });
    found.calls = calls;
    try {
      return await answerOf({ pipeline, found, exchange, config, caller, calls }, options);
    } finally {
      calls.close();
    }
  }
}

interface InnerRequest extends Pick<Exchange, 'id' | 'path' | 'params' | 'now'> {}

/** Of a body that is another now, and of a request that is one of many. */
const passedOver = ['transfer-encoding', 'content-length', 'idempotency-key'];

function exchangeOf(
  { config: _, headers: given, ...known }: Asker,
  { path, params, ...request }: InnerRequest,
): Exchange {
  const kept = Object.entries(given).filter(([name]) => !passedOver.includes(name));
  const headers = { ...Object.fromEntries(kept), 'content-type': 'application/json' };
  return {
    ...{ ...known, ...request, path, query: '', params, isJson: true },
    ...{ request: { method: 'POST', headers }, errorForm: errorFormOf('POST', path) },
    body: Buffer.from(JSON.stringify(params)),
  };
}

async function answerOf(
  calling: Omit<Calling, 'arrival'>,
  { onEvent }: ModelCallOptions,
): Promise<ModelAnswer> {
  const { pipeline, found, exchange, caller, calls } = calling;
  const guarded = new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
  const attempted = await attemptOf(calling, (leaf) => guarded.call(leaf));
  const reader = new EventReader();
  const onBytes = (bytes: Buffer): void => reader.push(bytes, (data) => onEvent?.(data));
  const { guarded: judged, kept, call, status } = attempted;
  if (judged !== undefined) {
    found.metered = judged.metered;
    return answered(judged.status, judged.body, isEventStream(judged.headers), onBytes);
  }
  if (kept !== null) {
    const isStream = isEventStream({ 'content-type': kept.contentType });
    return answered(kept.status, kept.body, isStream, onBytes);
  }
  if (call === null) throw attempted.error!;
  const isStream = isEventStream(call.headers);
  const read = await wholeAnswer(attempted, {
    ...{ calls, caller, onBytes: isStream ? onBytes : null },
  });
  found.metered = read.metered;
  if ('error' in read) throw read.error;
  return answered(status, read.body, isStream, null);
}

/** `onBytes` sees a stream that has come whole. */
function answered(
  status: number,
  body: Buffer,
  isStream: boolean,
  onBytes: ((bytes: Buffer) => void) | null,
): ModelAnswer {
  if (!isStream) return { status, body: jsonOf(body) };
  onBytes?.(body);
  return { status, body: null };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
