/** Calls models from inside the gateway on behalf of a caller: by its config, under its limits and guardrails, with a log entry. */
import type { IncomingMessage } from 'node:http';
import type { ConfigNode } from '../../model/configs/config-tree.ts';
import { leavesOf } from '../../model/configs/reached-targets.ts';
import { newId } from '../../model/wire/ids.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { monotonicMs } from '../../monotonic.ts';
import type {
  ModelCaller,
  ModelCallOptions,
  ModelCalls,
  ModelCallsFactory,
  ModelResponse,
} from '../../objects/model-calls.ts';
import { ObjectError } from '../../objects/object-request.ts';
import { Secret } from '../../secret.ts';
import { EventReader } from '../../upstream/documents/event-reader.ts';
import { requireUsableKey } from '../callers/authenticate.ts';
import type { Exchange, ReadHeader } from '../callers/exchange.ts';
import { metadataOf } from '../callers/metadata.ts';
import { gatewayErrorOf } from '../calls/error-response.ts';
import type { TargetOutcome } from '../calls/outcome.ts';
import { ProviderCalls } from '../calls/provider-calls.ts';
import { RecordDraft } from '../calls/record-draft.ts';
import {
  CallContext,
  type GatewayServices,
  type RequestContext,
} from '../calls/request-context.ts';
import { callTarget } from '../calls/target-stages.ts';
import { callTargets } from '../calls/walk-config.ts';
import { isFailure, readWholeResponse } from '../calls/whole-response.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import { Caller } from '../transfer/caller.ts';
import { errorFormOf } from '../transfer/error-form.ts';
import { gatewayErrorBody } from '../transfer/gateway-error.ts';
import { SignalReceiver } from '../transfer/signal-receiver.ts';
import { ownerOf } from './owned-lookup.ts';

/** The caller on whose behalf a model is called. */
interface InternalCaller
  extends Pick<
    Exchange,
    'key' | 'header' | 'headerPrefix' | 'metadata' | 'credential' | 'sentKey'
  > {
  readonly config: GatewayConfig;
  /** Headers of the original request; those that describe its body are ignored. */
  readonly headers: IncomingMessage['headers'];
}

/** Sets key and config of the draft as soon as they are known. @throws GatewayError */
type FindCaller = (draft: RecordDraft) => InternalCaller | Promise<InternalCaller>;

/** Calls models while the request of `context` is served, and after it. */
export function modelCallsOf({ services, exchange, config }: RequestContext): ModelCalls {
  const { key, header, headerPrefix, metadata, credential, sentKey, request } = exchange;
  const { headers } = request;
  const caller = { key, config, header, headers, headerPrefix, metadata, credential, sentKey };
  return new InternalCalls(services, (draft) => {
    draft.key = key;
    draft.config = config;
    return caller;
  });
}

/**
 * Calls models for a caller that was stored with {@link modelCallerOf}; looks up its key and config for each
 * call. Takes `getServices` because these calls are themselves one of the services.
 */
export function storedCallers(getServices: () => GatewayServices): ModelCallsFactory {
  return ({ organisationId, apiKeyId, headers }) => {
    const services = getServices();
    const header: ReadHeader = (name) => headers[name] ?? null;
    return new InternalCalls(services, async (draft) => {
      const storedKey = await services.keys.findById(organisationId, apiKeyId);
      const key = requireUsableKey(storedKey, draft.startedAt);
      draft.key = key;
      const config = await services.configs.resolve(key, header);
      draft.config = config;
      return {
        key,
        config,
        header,
        headers: {},
        headerPrefix: services.headerPrefixes[0]!,
        metadata: metadataOf(key, header, undefined),
        credential: null,
        sentKey: new Secret(draft.id, 'a request of the gateway itself'),
      };
    });
  };
}

class InternalCalls implements ModelCalls {
  readonly #services: GatewayServices;
  readonly #findCaller: FindCaller;

  constructor(services: GatewayServices, findCaller: FindCaller) {
    this.#services = services;
    this.#findCaller = findCaller;
  }

  async call(
    path: string,
    params: Readonly<Record<string, unknown>>,
    options: ModelCallOptions = {},
  ): Promise<ModelResponse> {
    const services = this.#services;
    const beganMs = monotonicMs();
    const draft = new RecordDraft({ id: newId(), path, beganMs }, services.now(), null, false);
    const answer = await this.#call(draft, params, options).catch((thrown: unknown) => {
      const error = gatewayErrorOf(services, draft.id, thrown);
      draft.error = error;
      const body: unknown = JSON.parse(gatewayErrorBody(error, 'openai'));
      return { status: error.status, body };
    });
    services.record(draft.toRecord(answer.status));
    return answer;
  }

  async #call(
    draft: RecordDraft,
    params: Readonly<Record<string, unknown>>,
    options: ModelCallOptions,
  ): Promise<ModelResponse> {
    const services = this.#services;
    const modelCaller = await this.#findCaller(draft);
    const { config } = modelCaller;
    const exchange = exchangeOf(modelCaller, draft, params);
    draft.exchange = exchange;
    const policies = await services.policies.of(modelCaller.key.organisationId);
    const caller = new Caller(new SignalReceiver(options.signal));
    const calls = new ProviderCalls(services, exchange, config, policies, caller, null);
    draft.calls = calls;
    try {
      const context = new CallContext(services, draft, exchange, config, caller, calls);
      const outcome = await callTargets(context, callTarget);
      return await readAnswer(context, outcome, options);
    } finally {
      calls.close();
    }
  }
}

/** Headers that describe the body or identify the original request. */
const ignoredHeaders = ['transfer-encoding', 'content-length', 'idempotency-key'];

function exchangeOf(
  { key, header, headerPrefix, metadata, credential, sentKey, headers: original }: InternalCaller,
  { id, path, startedAt }: RecordDraft,
  params: Readonly<Record<string, unknown>>,
): Exchange {
  const passed = Object.entries(original).filter(([name]) => !ignoredHeaders.includes(name));
  const headers = { ...Object.fromEntries(passed), 'content-type': 'application/json' };
  return {
    id,
    request: { method: 'POST', headers },
    header,
    headerPrefix,
    path,
    query: '',
    errorForm: errorFormOf('POST', path),
    now: startedAt,
    key,
    sentKey,
    credential,
    body: Buffer.from(JSON.stringify(params)),
    params,
    isJson: true,
    metadata,
  };
}

async function readAnswer(
  { draft, calls, caller }: CallContext,
  outcome: TargetOutcome,
  { onEvent }: ModelCallOptions,
): Promise<ModelResponse> {
  const reader = new EventReader();
  const onBytes = (bytes: Buffer): void => reader.push(bytes, (data) => onEvent?.(data));
  switch (outcome.kind) {
    case 'judged':
    case 'local': {
      const { status, headers, body, metered } = outcome.response;
      draft.metered = metered;
      return answerOf(status, body, isEventStream(headers), onBytes);
    }
    case 'cached': {
      const { status, contentType, body } = outcome.response;
      const isStream = isEventStream({ 'content-type': contentType });
      return answerOf(status, body, isStream, onBytes);
    }
    case 'failed':
      throw outcome.error;
    case 'live': {
      const isStream = isEventStream(outcome.call.headers);
      const read = await readWholeResponse(outcome, {
        calls,
        caller,
        onBytes: isStream ? onBytes : null,
        outlivesCaller: false,
      });
      draft.metered = read.metered;
      if (isFailure(read)) throw read.error;
      return answerOf(outcome.status, read.body, isStream, null);
    }
  }
}

/** Passes a stream that is complete to `onBytes`. */
function answerOf(
  status: number,
  body: Buffer,
  isStream: boolean,
  onBytes: ((bytes: Buffer) => void) | null,
): ModelResponse {
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

/** Headers of a request that also apply to the model calls it leads to. */
const storedHeaders = [
  'config',
  'provider',
  'virtual-key',
  'custom-host',
  'request-timeout',
  'metadata',
];

/**
 * Describes the caller of a request, so that models can be called for it after the request.
 *
 * @throws ObjectError when the request carries what is never stored: secrets and inline configs
 */
export function modelCallerOf({ exchange, config }: RequestContext): ModelCaller {
  const { key, credential, header } = exchange;
  const refusal = (what: string): ObjectError =>
    new ObjectError(
      'invalid_request',
      `A request that calls models in the background requires ${what}`,
    );
  if (key.kind === 'token')
    throw refusal('an API key, because a token may expire before the calls');
  // Many clients always send a credential, even if no target uses it.
  if (credential !== null && usesCallerCredential(config.root)) {
    throw refusal(
      'a credential in a saved provider or config, because credentials in requests are not stored',
    );
  }
  const headers: Record<string, string> = {};
  for (const name of storedHeaders) {
    const value = header(name);
    if (value !== null) headers[name] = value;
  }
  if (headers.config?.startsWith('{') === true) {
    throw refusal('a saved config, named by its slug, because inline configs are not stored');
  }
  return { ...ownerOf(key), headers };
}

/** Whether a target has no credential of its own; saved providers have one. */
function usesCallerCredential(root: ConfigNode): boolean {
  return leavesOf(root).some(
    ({ settings: { apiKey, provider, virtualKey } }) =>
      apiKey === null && virtualKey === null && provider?.startsWith('@') !== true,
  );
}
