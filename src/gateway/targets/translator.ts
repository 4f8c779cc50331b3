/** Translates a request to the provider's format, and its response to the caller's format. */

import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { endpointOf, geminiPrefix, meteringAt } from '../../model/endpoints/catalogue.ts';
import type { MeteringName } from '../../model/endpoints/metering.ts';
import { writeJson } from '../../model/json/json-bytes.ts';
import { converseCountPath } from '../../model/services/bedrock-models.ts';
import type { DialectName, FormatName } from '../../model/services/provider-addresses.ts';
import { newObjectId } from '../../objects/object-id.ts';
import type { Slices } from '../../slices.ts';
import type { Call, ProviderHeaders } from '../../upstream/call.ts';
import { NotTranslatable } from '../../upstream/documents/document-node.ts';
import { parseExactly } from '../../upstream/documents/exact-json.ts';
import { translationFor } from '../../upstream/formats/all-translations.ts';
import {
  retrievalTranslation,
  servesEmbeddings,
} from '../../upstream/formats/retrieval-translations.ts';
import {
  hasPackedReasoning,
  withoutPackedReasoning,
} from '../../upstream/translation/packed-reasoning.ts';
import { TranslatedEvents } from '../../upstream/translation/translated-events.ts';
import {
  type ProviderFault,
  parseProviderFault,
  type RequestTerms,
  type ResponseContext,
  type Translation,
  type TranslationContext,
} from '../../upstream/translation/translation.ts';
import type { TargetRequest } from '../callers/exchange.ts';
import { isLong } from '../transfer/changed-body.ts';
import { decompressBody } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Params } from '../transfer/read-body.ts';
import type { EventFilter } from '../transfer/relay.ts';

/** A body in the format of the caller, with the changes of the config. */
export interface RequestBody {
  readonly body: Buffer | null;
  /** Empty when the body is not JSON. */
  readonly params: Params;
  readonly model: string | null;
}

/** A request in the format of the provider. */
interface ProviderRequest {
  /** Path below the base address, with the query. */
  readonly path: string;
  readonly endpoint: string;
  readonly metering: MeteringName;
  readonly body: Buffer | null;
  readonly params: Params;
  readonly translator: Translator | null;
  /** Whether the request counts tokens, which the provider does not do. */
  readonly isEstimated: boolean;
}

interface ProviderFormat {
  readonly service: string;
  readonly name: DialectName;
  readonly dialect: FormatName;
  readonly unsupported: TargetSettings['unsupported'];
  /** Whether the provider receives responses requests; otherwise chat requests. */
  readonly hasResponses: boolean;
  /** Whether a provider of Anthropic's format counts the tokens of messages. */
  readonly countsMessages: boolean;
}

/** @throws GatewayError when the request cannot be expressed in the format of the provider */
export function* translateRequest(
  exchange: TargetRequest,
  format: ProviderFormat,
  { body, params }: RequestBody,
): Slices<ProviderRequest> {
  const { service, dialect, unsupported, hasResponses } = format;
  const { path, query, request, isJson } = exchange;
  const isEstimated = countsTokens(path) && !canCountTokens(path, format);
  const translation =
    request.method === 'POST' && !isEstimated
      ? (translationFor(path, dialect, hasResponses) ??
        retrievalTranslation(path, { service, dialect: format.name, params }))
      : null;
  const endpoint = endpointOf(path);
  if (!servesEmbeddings(path, format.name)) {
    const message = `Providers of the format of ${service} do not serve embeddings`;
    throw new GatewayError('not_found', message);
  }
  if (isGeminiPath(path)) requireGemini(path, dialect, translation, service);
  if (translation === null) {
    const metering = meteringAt(request.method, path, params);
    const sent = isGeminiPath(path) && request.method === 'POST' ? path : path + query;
    const own = yield* ownRequestOf(path, body, params);
    return { path: sent, endpoint, metering, ...own, translator: null, isEstimated };
  }
  if (!isJson || body === null) {
    throw new GatewayError('invalid_json', 'The body must be a JSON object');
  }
  const terms: RequestTerms = { service, unsupported, dropped: [] };
  const translated = yield* requestOf(translation, body, terms);
  requireNoThread(endpoint, params);
  const pathAtProvider = translation.pathOf(params);
  return {
    path: pathAtProvider,
    endpoint: endpointOf(pathAtProvider),
    metering: meteringAt('POST', pathAtProvider, translated.params),
    ...translated,
    translator: new Translator(
      translation,
      {
        now: exchange.now,
        wantsUsage: hasUsage(params.stream_options),
        customTools: customToolsIn(params.tools),
        model: String(params.model ?? ''),
        request: params,
        response: endpoint === 'responses' ? responseContext(exchange, params) : null,
      },
      terms.dropped,
    ),
    isEstimated: false,
  };
}

/** Whether the request is for the number of its tokens. */
export function countsTokens(path: string): boolean {
  return counts.has(path);
}

const messagesCount = '/messages/count_tokens';
const responsesCount = '/responses/input_tokens';
const geminiCount = '/v1beta/models:countTokens';
const counts: ReadonlySet<string> = new Set([
  messagesCount,
  responsesCount,
  geminiCount,
  converseCountPath,
]);

function canCountTokens(path: string, format: ProviderFormat): boolean {
  const { dialect, countsMessages, hasResponses } = format;
  if (path === geminiCount) return dialect === 'gemini';
  return path === responsesCount ? hasResponses : dialect === 'anthropic' && countsMessages;
}

function isGeminiPath(path: string): boolean {
  return path.startsWith(geminiPrefix);
}

/** @throws GatewayError where a provider of another format is asked for what only Gemini has */
function requireGemini(
  path: string,
  dialect: FormatName,
  translation: Translation | null,
  service: string,
): void {
  if (translation !== null || dialect === 'gemini' || path === geminiCount) return;
  const message = `Providers of the format of ${service} do not serve this endpoint of Gemini`;
  throw new GatewayError('not_found', message);
}

/** Only providers of Anthropic's format store threads; on this error, clients send all messages again. */
function requireNoThread(endpoint: string, { thread }: Params): void {
  if (endpoint !== 'messages' || (thread ?? null) === null) return;
  if ((thread as { readonly type?: unknown }).type === 'create') return;
  const message = 'Providers of this format do not store message threads; send all messages';
  throw new GatewayError('not_found', message, 'previous_message_id');
}

function responseContext(
  { now, newResponse, body }: TargetRequest,
  request: Params,
): ResponseContext {
  const { id = newObjectId('resp'), conversationId = null } = newResponse ?? {};
  const isBrief = body !== null && body.length > repeatedBytesMax;
  return { id, conversationId, createdAt: now, request, isBrief };
}

/** Largest request whose settings its response repeats completely, in each event of a stream. */
const repeatedBytesMax = 1024 * 1024;

/** Returns the received bytes unless they have reasoning that only the gateway understands. */
function* ownRequestOf(
  path: string,
  body: Buffer | null,
  params: Params,
): Slices<{ readonly params: Params; readonly body: Buffer | null }> {
  if (body === null || !hasPackedReasoning(path, params)) return { params, body };
  yield;
  const sent = withoutPackedReasoning(path, parseExactly(body.toString('utf8')) as Params);
  return { params: sent, body: isLong(body) ? yield* writeJson(sent) : bytesOf(sent) };
}

function* requestOf(
  translation: Translation,
  body: Buffer,
  terms: RequestTerms,
): Slices<{ readonly params: Params; readonly body: Buffer }> {
  try {
    yield;
    const text = body.toString('utf8');
    yield;
    const sent = parseExactly(text) as Params;
    yield;
    const params = translation.request(sent, terms);
    yield;
    return { params, body: isLong(body) ? yield* writeJson(params) : bytesOf(params) };
  } catch (thrown) {
    if (thrown instanceof RangeError) {
      const message = 'The JSON body is nested too deeply to be translated';
      throw new GatewayError('invalid_json', message, null, { cause: thrown });
    }
    if (!(thrown instanceof NotTranslatable)) throw thrown;
    const { message, path } = thrown;
    throw new GatewayError('not_translatable', message, path, { cause: thrown });
  }
}

function bytesOf(params: Params): Buffer {
  return Buffer.from(JSON.stringify(params));
}

/** Names of the custom tools of a chat; those of responses are in the request. */
function customToolsIn(tools: unknown): ReadonlySet<string> {
  if (!Array.isArray(tools)) return noTools;
  const custom = tools.filter((one) => one?.type === 'custom' && typeof one.custom === 'object');
  return custom.length === 0 ? noTools : new Set(custom.map((one) => String(one.custom?.name)));
}

const noTools: ReadonlySet<string> = new Set();

function hasUsage(options: unknown): boolean {
  return (options as { readonly include_usage?: unknown } | undefined)?.include_usage === true;
}

/** Input tokens in a header of Bedrock, whose embeddings of some models state them nowhere else; null for none. */
export function tokensInHeaders(headers: ProviderHeaders): number | null {
  const tokens = Number(headers['x-amzn-bedrock-input-token-count'] ?? Number.NaN);
  return Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}

/** Bound of an unstructured provider error in a message. */
const faultCharsMax = 1000;

/** Translates the response to one request. */
export class Translator {
  readonly #translation: Translation;
  readonly #about: TranslationContext;
  /** Paths of members of the request that are left out, without the indexes of lists; the caller is told. */
  readonly dropped: readonly string[];

  constructor(translation: Translation, about: TranslationContext, dropped: readonly string[]) {
    this.#translation = translation;
    this.#about = about;
    this.dropped = withinBound(dropped);
  }

  /** Replaces the headers that describe the body, and requests an uncompressed response. */
  headersOf(headers: Record<string, string>): Record<string, string> {
    return { ...headers, 'accept-encoding': 'identity', 'content-type': 'application/json' };
  }

  /** @throws GatewayError when a 2xx response cannot be translated */
  whole({ status, headers }: Call, received: Buffer): Buffer {
    const body = decompressBody(headers, received) ?? received;
    const value = parsed(body);
    if (status < 200 || status > 299) {
      const fault = parseProviderFault(value, status) ?? unformedFault(status, headers, body);
      return Buffer.from(JSON.stringify(this.#translation.error(fault)));
    }
    try {
      const inputTokens = tokensInHeaders(headers);
      const about = inputTokens === null ? this.#about : { ...this.#about, inputTokens };
      return Buffer.from(JSON.stringify(this.#translation.response(value, about)));
    } catch (thrown) {
      const message = `The response of the provider cannot be translated to the format of the request: ${(thrown as Error).message}`;
      throw new GatewayError('answer_not_translatable', message, null, { cause: thrown });
    }
  }

  /** Passes the events through `meter` before they are translated; null when the response is not a stream. */
  events(meter: EventFilter | null, likelyInputTokens: number): EventFilter | null {
    if (meter === null) return null;
    const events = new TranslatedEvents(
      this.#translation.events({ ...this.#about, likelyInputTokens }),
    );
    return {
      pass: (chunk) => events.pass(meter.pass(chunk)),
      rest: () => Buffer.concat([events.pass(meter.rest()), events.rest()]),
    };
  }
}

/** Bound of all paths in a response header and in the log. */
const droppedCharsMax = 1000;
const droppedPathsMax = 20;

function withinBound(dropped: readonly string[]): readonly string[] {
  let chars = 0;
  return dropped.slice(0, droppedPathsMax).filter((path) => {
    chars += path.length;
    return chars <= droppedCharsMax;
  });
}

/** Undefined when the body is not JSON. */
function parsed(body: Buffer): unknown {
  try {
    return parseExactly(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Describes an error that is not in the format of the provider; usually a proxy sent it. */
function unformedFault(status: number, headers: ProviderHeaders, body: Buffer): ProviderFault {
  const isText = String(headers['content-type']).startsWith('text/plain');
  const text = isText ? body.toString('utf8').trim().slice(0, faultCharsMax) : '';
  const message = text === '' ? `The provider answered with ${status}` : text;
  return { message, type: null, status };
}
