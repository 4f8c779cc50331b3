/** Writes lists of models, and single ones, in the form that the caller reads. */
import { endpointAt, geminiPrefix, modelInPath } from '../../model/endpoints/catalogue.ts';
import {
  anthropicModel,
  anthropicModelPage,
  geminiModel,
  geminiModelPage,
  type OfferedModel,
  openAiModel,
  parseModelPage,
} from '../../model/providers/model-list.ts';
import { type Exchange, isAnthropicCaller } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** The form of a list of models. */
export type ListForm = 'openai' | 'anthropic' | 'gemini';

/** Anthropic's clients send their version, or the key in their header alone. */
export function listFormOf({ request, path }: Pick<Exchange, 'request' | 'path'>): ListForm {
  if (path.startsWith(geminiPrefix)) return 'gemini';
  const { 'x-api-key': key, authorization } = request.headers;
  const isAnthropic =
    isAnthropicCaller(request) || (key !== undefined && authorization === undefined);
  return isAnthropic ? 'anthropic' : 'openai';
}

const singles = { openai: openAiModel, anthropic: anthropicModel, gemini: geminiModel };

/** @throws GatewayError when the requested model or page does not exist */
export function modelAnswer(exchange: Exchange, models: readonly OfferedModel[]): object {
  const { path, query } = exchange;
  const form = listFormOf(exchange);
  const endpoint = endpointAt('GET', path);
  const id = endpoint === null ? null : modelInPath(endpoint, path);
  if (id !== null) {
    const model = models.find((one) => one.id === id);
    if (model === undefined) throw noModel(id);
    return singles[form](model);
  }
  if (form === 'openai') return { object: 'list', data: models.map(openAiModel) };
  const members = new URLSearchParams(query);
  if (form === 'gemini') return geminiModelPage(models, members) ?? notInList('pageToken');
  const page = parseModelPage(members);
  if ('fault' in page) throw new GatewayError('invalid_request', page.fault, page.param);
  const cursor = page.afterId === null ? 'before_id' : 'after_id';
  return anthropicModelPage(models, page) ?? notInList(cursor);
}

function notInList(param: string): never {
  throw new GatewayError('invalid_request', `${param} is not in the list of models`, param);
}

function noModel(id: string): GatewayError {
  const quoted = /^[\w@./:-]{1,255}$/.test(id) ? ` ${id}` : '';
  const message = `This key may use no model${quoted}; GET /v1/models lists those that it may use`;
  return new GatewayError('not_found', message, 'model');
}
