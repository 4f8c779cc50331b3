/** Knows how the gateway asks a model itself, in the name of a caller: by its config, within its limits, through its guardrails, into the log. */
import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { ModelAnswer, ModelCalls } from '../objects/model-calls.ts';
import { type Attempted, errorOf } from './attempt.ts';
import { Caller } from './caller.ts';
import type { Arrival, Calling, Findings } from './calling.ts';
import { errorFormOf } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { GuardedCalls } from './guarded-calls.ts';
import { recordOf } from './pipeline.ts';
import { ProviderCalls } from './provider-calls.ts';
import { attemptOf } from './send-back.ts';
import { wholeAnswer } from './whole-answer.ts';

/** Good beyond the end of the request that it was made for. */
export function modelCallsOf(calling: Calling): ModelCalls {
  return { call: (path, params) => innerCall(calling, path, params) };
}

async function innerCall(
  outer: Calling,
  path: string,
  params: Readonly<Record<string, unknown>>,
): Promise<ModelAnswer> {
  const { pipeline, config } = outer;
  const { arrival, exchange } = asked(outer, path, params);
  const caller = new Caller(arrival.response);
  const { ledger, origins, targets, answers, headerPrefixes, enforcesLimits } = pipeline;
  const policies = await pipeline.policies.of(exchange.key.organisationId);
  const calls = new ProviderCalls({
    ...{ ledger, origins, targets, answers, headerPrefixes },
    ...{ exchange, config, policies, caller, enforcesLimits, trace: null },
  });
  const found: Findings = {
    ...{ trace: null, key: exchange.key, exchange, config, calls },
    ...{ attempted: null, firstByteMs: null, metered: null, error: null },
  };
  const calling = { pipeline, arrival, found, exchange, config, caller, calls };
  const guarded = new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
  try {
    const attempted = await attemptOf(calling, (leaf) => guarded.call(leaf));
    const answer = await answerOf(calling, attempted);
    arrival.response.statusCode = answer.status;
    return answer;
  } catch (thrown) {
    found.error = errorOf(thrown);
    const { status, message } = found.error;
    arrival.response.statusCode = status;
    return { status, body: { error: { message } } };
  } finally {
    calls.close();
    pipeline.record(recordOf(arrival, found, exchange.now));
  }
}

/** What the caller would have sent, on a connection that there is not. */
function asked(
  { pipeline, arrival, exchange }: Calling,
  path: string,
  params: Readonly<Record<string, unknown>>,
): { readonly arrival: Arrival; readonly exchange: Exchange } {
  const body = Buffer.from(JSON.stringify(params));
  const request = new IncomingMessage(new Socket());
  request.method = 'POST';
  const { 'transfer-encoding': _, ...headers } = exchange.request.headers;
  request.headers = {
    ...headers,
    ...{ 'content-type': 'application/json', 'content-length': String(body.length) },
  };
  const response = new ServerResponse(request);
  const errorForm = errorFormOf('POST', path);
  const same = { id: randomUUID(), request, response, path, query: '', errorForm };
  const { begun: _begun, ...rest } = exchange;
  return {
    arrival: { ...arrival, ...same, beganMs: performance.now() },
    exchange: { ...rest, ...same, now: pipeline.now(), body, params, isJson: true },
  };
}

async function answerOf(
  { found, calls, caller }: Calling,
  attempted: Attempted,
): Promise<ModelAnswer> {
  const { guarded, kept, call, error, status } = attempted;
  if (guarded !== undefined) return { status: guarded.status, body: jsonIn(guarded.body) };
  if (kept !== null) return { status: kept.status, body: jsonIn(kept.body) };
  if (call === null) throw error!;
  const read = await wholeAnswer(attempted, { calls, caller });
  found.metered = read.metered;
  if ('error' in read) throw read.error;
  return { status, body: jsonIn(read.body) };
}

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
