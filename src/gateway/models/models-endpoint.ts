/** Serves `GET /models` and `/v1beta/models`: the models that a key may use, in the form of its caller (docs/reference/inference.md, Models). */
import { addOwnHeader } from '../../http/responses/response-head.ts';
import type { OfferedModel } from '../../model/providers/model-list.ts';
import { usualAddress } from '../../model/services/service-address.ts';
import type { Exchange } from '../callers/exchange.ts';
import { countRequest } from '../calls/count-request.ts';
import { deliver } from '../calls/deliver.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { gatewayHeaderNames } from '../calls/response-headers.ts';
import { callTarget, guardTarget } from '../calls/target-stages.ts';
import { callTargets } from '../calls/walk-config.ts';
import { localJson, sendObject } from '../objects/send-object.ts';
import { listMsMax } from '../targets/provider-models.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { isGoogleCaller } from '../transfer/error-form.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { listFormOf, modelAnswer } from './model-answers.ts';
import { type ModelSource, modelSourcesOf } from './model-sources.ts';
import { hasModelChecks, offeredModels } from './offered-models.ts';

const modelPath = /^(?:\/v1beta)?\/models(?:\/|$)/;

/** Whether the request is for the list of models, or for one of them. */
export function isModelsRequest({ request: { method }, path }: Exchange): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && modelPath.test(path);
}

/** @throws GatewayError when no model is known, or the requested one is not in the list */
export async function serveModels(request: RequestContext): Promise<void> {
  const context = inFormOfCaller(request);
  const sources = await modelSourcesOf(context);
  if (sources.length === 0) throw noProvider();
  const resolved = await Promise.all(sources.map((source) => resolveSource(context, source)));
  const [only] = resolved;
  if (resolved.length === 1 && 'error' in only!) throw only.error;
  if (resolved.length === 1 && (await isForwarded(context, only as ResolvedSource))) {
    return forward(context, only!.source);
  }
  const reached = resolved.filter((one) => 'target' in one);
  if (reached.length === 0) throw allFailed(resolved.map(faultOf));
  const { target, source } = reached[0]!;
  let body: object = {};
  const outcome = await guardTarget(context, source.leaf, async () => {
    await countRequest(context, target);
    body = modelAnswer(context.exchange, await listModels(context, resolved));
    return localJson(target, body);
  });
  if (outcome.kind === 'local') return sendObject(context, { body });
  context.draft.setOutcome(outcome);
  return deliver(context, outcome);
}

/** Newer clients of Google use the path below `/v1`, which has another form for others. */
function inFormOfCaller(context: RequestContext): RequestContext {
  const { exchange } = context;
  const { path, request } = exchange;
  if (!isGoogleCaller(request.headers) || listFormOf(exchange) === 'gemini') return context;
  return context.withExchange({ ...exchange, path: `/v1beta${path}` });
}

interface ResolvedSource {
  readonly source: ModelSource;
  readonly target: ResolvedTarget;
}

/** A source whose provider cannot be called. */
interface RefusedSource {
  readonly source: ModelSource;
  readonly error: GatewayError;
}

type AnySource = ResolvedSource | RefusedSource;

/** A provider whose models are missing in the list, with the reason. */
interface SourceFault {
  readonly provider: string;
  readonly fault: string;
}

async function resolveSource(
  { calls, exchange }: RequestContext,
  source: ModelSource,
): Promise<AnySource> {
  const sent = Object.entries(exchange.request.headers);
  const shared = sent.filter(([name]) => !ownHeaders.includes(name));
  const headers = { ...Object.fromEntries(shared), accept: 'application/json' };
  const asking = { ...exchange, path: '/models', query: '', request: { method: 'GET', headers } };
  try {
    return { source, target: await inTime(calls.targetOf(source.leaf, asking)) };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { source, error: thrown };
  }
}

/** Headers of one request, which would make its list another one. */
const ownHeaders = ['content-type', 'idempotency-key', 'traceparent', 'tracestate'];

/**
 * Whether the provider's own list, in the form of the caller, contains exactly what the key may use. It is then
 * requested like any other path.
 */
async function isForwarded(
  context: RequestContext,
  { source, target }: ResolvedSource,
): Promise<boolean> {
  const { workspaceProvider, pricing } = target;
  const { dialect, geminiForm } = usualAddress(pricing.service);
  const form = listFormOf(context.exchange);
  const own = form === 'gemini' ? geminiForm?.dialect : dialect;
  if (source.prefix !== '' || own !== form) return false;
  if (workspaceProvider?.allowsAnyModel === false) return false;
  if (source.leaf.settings.overrideParams?.model !== undefined) return false;
  return !(await hasModelChecks(context, source));
}

async function forward(context: RequestContext, { leaf }: ModelSource): Promise<void> {
  const { settings } = leaf;
  const requestTimeoutMs = settings.requestTimeoutMs ?? listMsMax;
  const timed = { ...leaf, settings: { ...settings, requestTimeoutMs } };
  await deliver(context, await callTargets(context.withTargets(timed), callTarget));
}

/** Names the providers that failed in a response header. */
async function listModels(
  context: RequestContext,
  resolved: readonly AnySource[],
): Promise<OfferedModel[]> {
  const listed = await Promise.all(resolved.map((source) => modelsOf(context, source)));
  const faults = listed.flatMap(({ fault }) => (fault === null ? [] : [fault]));
  const models = new Map<string, OfferedModel>();
  for (const one of listed) {
    for (const model of one.models) {
      if (!models.has(model.id)) models.set(model.id, model);
    }
  }
  if (models.size === 0 && faults.length > 0) throw allFailed(faults);
  if (faults.length > 0) {
    const { response, headerPrefix } = context.arrival;
    const texts = faults.map(({ provider, fault }) => `${provider} (${fault})`);
    const name = gatewayHeaderNames(headerPrefix).failedProviders;
    addOwnHeader(response, name, [...new Set(texts)].join(', '));
  }
  return [...models.values()];
}

async function modelsOf(context: RequestContext, source: AnySource) {
  if ('error' in source) return { models: [], fault: faultOf(source) };
  const { target } = source;
  try {
    const { models, fault } = await inTime(offeredModels(context, source.source, target));
    return { models, fault: fault === null ? null : { provider: target.provider, fault } };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { models: [], fault: { provider: target.provider, fault: thrown.message } };
  }
}

/** @throws GatewayError when the value is not there in time */
async function inTime<T>(value: T | Promise<T>): Promise<T> {
  if (!(value instanceof Promise)) return value;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `no answer within ${listMsMax} ms`;
  const timer = setTimeout(() => reject(new GatewayError('request_timeout', message)), listMsMax);
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

function faultOf(source: AnySource): SourceFault {
  const { settings, path } = source.source.leaf;
  const provider = settings.provider ?? settings.virtualKey ?? path;
  return { provider, fault: 'error' in source ? source.error.code : '' };
}

function noProvider(): GatewayError {
  const message =
    'No provider is named, and the workspace of the key has none: send x-gateway-config or x-gateway-provider, or set a config on the key';
  return new GatewayError('provider_missing', message, 'x-gateway-provider');
}

function allFailed(faults: readonly SourceFault[]): GatewayError {
  const texts = faults.map(({ provider, fault }) => `${provider} (${fault})`);
  const message = `No models can be listed: ${[...new Set(texts)].join(', ')}`;
  return new GatewayError('upstream_unreachable', message);
}
