/** Serves inference requests. `serveRequest` lists the stages of a request in order. */

import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BodyHold } from '../../http/input/body-hold.ts';
import { addWarningHeader, endAbruptly } from '../../http/responses/response-head.ts';
import { Secret } from '../../secret.ts';
import { run } from '../../slices.ts';
import { authenticate, credentialsOf, type SentCredentials } from '../callers/authenticate.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { metadataOf } from '../callers/metadata.ts';
import type { SessionSecrets } from '../callers/session-secrets.ts';
import { deliver } from '../calls/deliver.ts';
import { gatewayErrorOf, sendError } from '../calls/error-response.ts';
import { ProviderCalls } from '../calls/provider-calls.ts';
import { RecordDraft } from '../calls/record-draft.ts';
import { type Arrival, type GatewayServices, RequestContext } from '../calls/request-context.ts';
import { responseHeaders } from '../calls/response-headers.ts';
import { callTarget } from '../calls/target-stages.ts';
import { callTargets } from '../calls/walk-config.ts';
import { beginTrace } from '../logs/request-trace.ts';
import { isModelsRequest, serveModels } from '../models/models-endpoint.ts';
import type { OwnedObjects } from '../objects/owned-objects.ts';
import { findModelRequestObjects } from '../references/model-request-objects.ts';
import { type OwnedPath, ownedPathOf, sendsFile } from '../references/owned-path.ts';
import { Caller } from '../transfer/caller.ts';
import { isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { readBody } from '../transfer/read-body.ts';
import { waitForTurn } from '../transfer/turn-batches.ts';
import { nameJsonType, withActionMembers } from './action-members.ts';
import { type Prompts, parsePromptPath, type RenderedPrompt } from './prompts.ts';
import { sendRendered } from './rendered-prompt.ts';
import { readMembers } from './request-members.ts';
import { isSecretRequest, serveSessionSecret } from './session-secret-endpoint.ts';

export interface Pipeline extends GatewayServices {
  readonly prompts: Prompts;
  readonly objects: OwnedObjects;
  readonly sessionSecrets: SessionSecrets;
}

/** Responds to the request in every case, and logs it; never rejects. */
export async function serveRequest(pipeline: Pipeline, arrival: Arrival): Promise<void> {
  const { request, response, header } = arrival;
  const { spanExport } = pipeline;
  const now = pipeline.now();
  const trace = spanExport && beginTrace(request, arrival.beganMs, spanExport.sampler);
  const draft = new RecordDraft(arrival, now, trace, true);
  let hold: BodyHold | null = null;
  try {
    // Authenticate.
    const credentials = credentialsOf(request, header);
    const authenticated = authenticate(pipeline, credentials, now);
    const key = authenticated instanceof Promise ? await authenticated : authenticated;
    draft.key = key;

    // Resolve: the config, and what the path and the body request.
    const resolved = pipeline.configs.resolve(key, header);
    const config = resolved instanceof Promise ? await resolved : resolved;
    draft.config = config;
    if (config.warning !== null) addWarningHeader(response, config.warning);
    requireForwardable(request, credentials.key!);
    const prompt = parsePromptPath(request.method, arrival.path);
    const owned = prompt === null ? ownedPathOf(request.method, arrival.path) : null;
    const isUpload = owned !== null && sendsFile(owned, request);
    await waitForTurn();
    hold = pipeline.bodyMemory.hold(key.id);
    const read = isUpload ? null : readBody(request, pipeline.bodyBytesMax, hold);
    const body = read instanceof Promise ? await read.finally(waitForTurn) : read;
    nameJsonType(arrival.action, request);
    const reading = readMembers(request, arrival.path, body, pipeline.jsonBounds);
    const plain = reading instanceof Promise ? await reading : reading;
    const { jsonBounds } = pipeline;
    const changing = withActionMembers(arrival.action, { ...plain, body }, request, jsonBounds);
    const sent = changing instanceof Promise ? await changing : changing;
    const rendered = prompt === null ? null : await pipeline.prompts.fill(key, prompt, sent);
    pipeline.keys.noteUse(key, now);
    if (prompt?.action === 'render') await sendRendered(arrival, rendered!);
    else {
      draft.promptSlug = rendered?.slug ?? null;
      const exchange = exchangeOf(
        arrival,
        key,
        credentials,
        now,
        rendered ?? { path: arrival.path, ...sent, metadata: undefined },
        isUpload,
      );
      draft.exchange = exchange;
      const loading = pipeline.policies.of(key.organisationId);
      const policies = loading instanceof Promise ? await loading : loading;
      const caller = new Caller(response);
      const calls = new ProviderCalls(pipeline, exchange, config, policies, caller, trace);
      draft.calls = calls;
      const context = new RequestContext(arrival, pipeline, draft, exchange, config, caller, calls);
      await respond(pipeline, context, owned);
    }
  } catch (thrown) {
    // The parser finishes a request that has already arrived, so that its connection stays open.
    await nextMicrotask;
    fail(pipeline, arrival, draft, thrown);
  }
  hold?.release();
  draft.markResponded();

  // Observe and log: guardrails that only record judge a stream after its end.
  if (draft.observation !== null) await observe(pipeline, draft.observation, arrival.id);
  const record = draft.toRecord(response.statusCode);
  pipeline.record(record);
  if (trace !== null) spanExport!.add(trace, record, response.headersSent);
}

/** Resolves when the observers have judged; never rejects. */
function observe(pipeline: Pipeline, observation: Promise<void>, id: string): Promise<void> {
  return observation.catch((thrown: unknown) => pipeline.onFault(thrown, id));
}

async function respond(
  pipeline: Pipeline,
  context: RequestContext,
  owned: OwnedPath | null,
): Promise<void> {
  try {
    if (isLong(context.exchange.body)) await nextTurn();
    if (owned !== null) return await pipeline.objects.serve(context, owned);
    const finding = run(findModelRequestObjects(context.exchange), isLong(context.exchange.body));
    const named = finding instanceof Promise ? await finding : finding;
    if (named !== null) return await pipeline.objects.serveModelRequest(context, named);
    if (isModelsRequest(context.exchange)) return await serveModels(context);
    if (isSecretRequest(context.exchange)) {
      return await serveSessionSecret(context, pipeline.sessionSecrets);
    }

    // Guard, admit, call, judge: gateway/calls/target-stages.ts lists these stages of one target.
    const outcome = await callTargets(context, callTarget);

    // Deliver.
    await deliver(context, outcome);
  } finally {
    // Settle.
    context.calls.close();
  }
}

const nextMicrotask = Promise.resolve();

/** `sent` is what the caller sent, or what a prompt made of it. */
function exchangeOf(
  arrival: Arrival,
  key: GatewayKey,
  credentials: SentCredentials,
  now: number,
  { path, params, body, isJson, metadata }: Omit<RenderedPrompt, 'slug'>,
  isUpload: boolean,
): Exchange {
  const { id, request, header, headerPrefix, query, errorForm } = arrival;
  // Properties are listed because a spread costs several times as much.
  return {
    id,
    request,
    header,
    headerPrefix,
    path,
    query,
    errorForm,
    now,
    key,
    sentKey: new Secret(credentials.key!, 'the request'),
    credential: credentials.credential,
    body,
    params,
    isJson,
    metadata: metadataOf(key, header, params.user, metadata),
    unreadUpload: isUpload ? request : undefined,
  };
}

/** Rejects what cannot be forwarded to a provider as it is. */
function requireForwardable({ headers, url = '' }: IncomingMessage, key: string): void {
  if (headers['content-encoding'] !== undefined) {
    const message = 'The body must be sent without a content encoding';
    throw new GatewayError('unsupported_encoding', message, 'content-encoding');
  }
  if (!url.includes(key)) return;
  const message = 'The URL contains the API key, which would be sent to the provider; remove it';
  throw new GatewayError('invalid_request', message);
}

/** Never throws: an error while reporting `thrown` ends this request only. */
function fail(pipeline: Pipeline, arrival: Arrival, draft: RecordDraft, thrown: unknown): void {
  try {
    sendFailure(pipeline, arrival, draft, thrown);
  } catch (unexpected) {
    pipeline.onFault(unexpected, arrival.id);
    endAbruptly(arrival.response);
  }
}

function sendFailure(
  pipeline: Pipeline,
  arrival: Arrival,
  draft: RecordDraft,
  thrown: unknown,
): void {
  const { id, request, response } = arrival;
  const error = gatewayErrorOf(pipeline, response.destroyed ? null : id, thrown);
  draft.error = error;
  if (error.refused !== null) {
    pipeline.onRefused(error.refused, request.socket.remoteAddress ?? '');
  }
  const left = draft.calls?.left() ?? [];
  sendError(arrival, error, responseHeaders(arrival, draft.outcome, left, draft.startedAt));
}
