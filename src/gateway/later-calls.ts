/** Knows how the gateway asks a model itself, on behalf of a caller who waits for no answer: by the same way as a request. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { newId } from '../model/ids.ts';
import type { LaterCalls, ModelCaller, ModelRequest } from '../objects/later-calls.ts';
import type { ModelAnswer } from '../objects/model-calls.ts';
import { ObjectError } from '../objects/object-request.ts';
import { Secret } from '../secret.ts';
import { EventReader } from '../upstream/dialects/event-reader.ts';
import { permitted } from './authenticate.ts';
import { Caller } from './caller.ts';
import type { Calling, Findings, Pipeline } from './calling.ts';
import type { Exchange, ReadHeader } from './exchange.ts';
import { gatewayErrorBody } from './gateway-error.ts';
import { GuardedCalls } from './guarded-calls.ts';
import { metadataOf } from './metadata.ts';
import { recordOf, refusalOf } from './pipeline.ts';
import { ProviderCalls } from './provider-calls.ts';
import { isEventStream } from './relay.ts';
import { attemptOf } from './send-back.ts';
import { wholeAnswer } from './whole-answer.ts';

/** What of a request says how others are sent that come of it. */
const keptHeaders = [
  'config',
  'provider',
  'virtual-key',
  'custom-host',
  'request-timeout',
  'metadata',
];

/**
 * Who a request comes from, to ask models for it when it is over.
 *
 * @throws ObjectError where it brings along what is not kept: secrets, and whole configs
 */
export function modelCallerOf({ key, credential, header }: Exchange): ModelCaller {
  const refusal = (what: string): ObjectError =>
    new ObjectError('invalid_request', `What asks models later on takes ${what}`);
  if (key.kind === 'token') throw refusal('an API key: a token may be over by then');
  if (credential !== null) {
    throw refusal(
      'the credential of a saved provider or config: none that comes with a request is kept',
    );
  }
  const headers: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = header(name);
    if (value !== null) headers[name] = value;
  }
  if (headers.config?.startsWith('{') === true) {
    throw refusal('a saved config by its slug: none that comes with a request is kept');
  }
  return { organisationId: key.organisationId, apiKeyId: key.id, headers };
}

export class StoredCallers implements LaterCalls {
  readonly #pipeline: () => Pipeline;

  /** What it is part of itself. */
  constructor(pipeline: () => Pipeline) {
    this.#pipeline = pipeline;
  }

  async call(asking: ModelCaller, request: ModelRequest): Promise<ModelAnswer> {
    const pipeline = this.#pipeline();
    const now = pipeline.now();
    const arrival = { id: newId(), path: request.path, beganMs: performance.now() };
    const found: Findings = {
      ...{ trace: null, key: null, exchange: null, config: null, calls: null, attempted: null },
      ...{ firstByteMs: null, metered: null, error: null },
    };
    const answer = await answerTo(pipeline, { asking, request, found, now, id: arrival.id }).catch(
      (thrown: unknown) => {
        found.error = refusalOf(pipeline, arrival.id, thrown);
        const body: unknown = JSON.parse(gatewayErrorBody(found.error, 'openai'));
        return { status: found.error.status, body };
      },
    );
    const response = { statusCode: answer.status };
    pipeline.record(recordOf({ ...arrival, response }, found, now));
    return answer;
  }
}

interface Inner {
  readonly asking: ModelCaller;
  readonly request: ModelRequest;
  readonly found: Findings;
  readonly now: number;
  readonly id: string;
}

async function answerTo(pipeline: Pipeline, inner: Inner): Promise<ModelAnswer> {
  const { asking, request, found, now } = inner;
  const { organisationId, apiKeyId } = asking;
  const key = permitted(await pipeline.keys.findById(organisationId, apiKeyId), now);
  found.key = key;
  const header: ReadHeader = (name) => asking.headers[name] ?? null;
  const config = await pipeline.configs.resolve(key, header);
  found.config = config;
  const exchange = exchangeOf(pipeline, inner, {
    ...{ key, header, metadata: metadataOf(key, header, undefined) },
  });
  found.exchange = exchange;
  const policies = await pipeline.policies.of(organisationId);
  const { ledger, origins, targets, answers, enforcesLimits } = pipeline;
  const caller = new Caller(new Wanted(request.signal));
  const calls = new ProviderCalls({
    ...{ ledger, origins, targets, answers },
    ...{ exchange, config, policies, caller, enforcesLimits, trace: null },
  });
  found.calls = calls;
  try {
    return await answerOf({ pipeline, found, exchange, config, caller, calls }, request);
  } finally {
    calls.close();
  }
}

function exchangeOf(
  { headerPrefixes }: Pipeline,
  { request, now, id }: Inner,
  known: Pick<Exchange, 'key' | 'header' | 'metadata'>,
): Exchange {
  const { path, params } = request;
  const asked: Pick<IncomingMessage, 'method' | 'headers'> = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  };
  return {
    ...{ id, request: asked, headerPrefix: headerPrefixes[0]!, path, query: '', now },
    ...{ ...known, errorForm: 'openai', credential: null, params, isJson: true },
    body: Buffer.from(JSON.stringify(params)),
    sentKey: new Secret(id, 'a request of the gateway itself'),
  };
}

async function answerOf(
  calling: Omit<Calling, 'arrival'>,
  { onEvent }: ModelRequest,
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

/** Stands for the connection of a caller: gone when nobody wants the answer any more. */
class Wanted extends EventEmitter<{ close: [] }> {
  readonly writableFinished = false;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    super();
    this.#signal = signal;
    signal.addEventListener('abort', () => this.emit('close'), { once: true });
  }

  get destroyed(): boolean {
    return this.#signal.aborted;
  }
}
