/** Reads the model lists of providers, and writes lists in the forms of OpenAI and Anthropic. */
import { isObject } from '../json/read-object.ts';

/** A model as its provider describes it. */
export interface ListedModel {
  /** Name at the provider. */
  readonly name: string;
  /** Members of the provider's description; empty for a model that only a configuration names. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** A model under the id that a caller sends. */
export interface OfferedModel extends ListedModel {
  readonly id: string;
  /** The service that runs it. */
  readonly service: string;
}

/** Members that hold the list of models, and those that hold a name, in all known forms. */
const listNames = ['data', 'models', 'modelSummaries', 'inferenceProfileSummaries'];
const idNames = ['id', 'modelId', 'inferenceProfileId', 'name', 'model'];

/** Null for a body that is no list of models. */
export function parseModelList(body: unknown): ListedModel[] | null {
  const list = Array.isArray(body) ? body : listIn(body);
  if (list === null) return null;
  const models = list.flatMap((item) => {
    if (!isObject(item) || !isCallable(item)) return [];
    const name = idNames.map((one) => item[one]).find((one) => typeof one === 'string');
    if (name === undefined || name === '') return [];
    return [{ name: (name as string).replace(/^models\//, ''), members: item }];
  });
  return list.length > 0 && models.length === 0 ? null : models;
}

/** Models of Bedrock may be callable by inference profiles or reserved capacity only. */
function isCallable({ inferenceTypesSupported: types }: Record<string, unknown>): boolean {
  return !Array.isArray(types) || types.includes('ON_DEMAND');
}

function listIn(body: unknown): unknown[] | null {
  if (!isObject(body)) return null;
  const list = listNames.map((name) => body[name]).find((one) => Array.isArray(one));
  return (list as unknown[] | undefined) ?? null;
}

/** A model in OpenAI's form; a description in that form keeps its other members. */
export function openAiModel({ id, service, members }: OfferedModel): object {
  const { object, created, owned_by: owner } = members;
  const own = object === 'model' ? members : {};
  const seconds = typeof created === 'number' ? created : Math.floor(createdAtMs(members) / 1000);
  return {
    ...own,
    id,
    object: 'model',
    created: seconds,
    owned_by: typeof owner === 'string' ? owner : service,
  };
}

/** A model in Anthropic's form; a description in that form keeps its other members. */
export function anthropicModel({ id, name, members }: OfferedModel): object {
  const own = members.type === 'model' ? members : {};
  return {
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
    max_input_tokens: null,
    max_tokens: null,
    ...own,
    type: 'model',
    id,
    display_name: labelOf(members) ?? name,
    created_at: new Date(createdAtMs(members)).toISOString(),
  };
}

/** A model in Gemini's form; a description in that form keeps its other members. */
export function geminiModel({ id, name, members }: OfferedModel): object {
  const own = Array.isArray(members.supportedGenerationMethods) ? members : {};
  return {
    version: '',
    displayName: labelOf(members) ?? name,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    ...own,
    name: `models/${id}`,
  };
}

function labelOf(members: ListedModel['members']): unknown {
  const { display_name: own, displayName, modelName, inferenceProfileName, name } = members;
  const labels = [own, displayName, modelName, inferenceProfileName, name];
  return labels.find((one) => typeof one === 'string' && one !== '');
}

/** The beginning of 1970 for a model whose date is unknown. */
function createdAtMs({ created, created_at: createdAt }: ListedModel['members']): number {
  const ms = typeof created === 'number' ? created * 1000 : Date.parse(String(createdAt));
  return Number.isNaN(ms) || Math.abs(ms) > dateMsMax ? 0 : ms;
}

const dateMsMax = 8.64e15;

/** A page of models: at most `limit`, after or before a model. */
export interface ModelPage {
  readonly limit: number;
  readonly afterId: string | null;
  readonly beforeId: string | null;
}

const limitUsual = 20;
const limitMax = 1000;

/** The page that a query requests, or the fault of the query. */
export function parseModelPage(
  query: URLSearchParams,
): ModelPage | { readonly param: string; readonly fault: string } {
  const limit = query.get('limit') ?? String(limitUsual);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > limitMax) {
    return { param: 'limit', fault: `limit must be from 1 to ${limitMax}` };
  }
  const [afterId, beforeId] = [query.get('after_id'), query.get('before_id')];
  if (afterId !== null && beforeId !== null) {
    return { param: 'before_id', fault: 'after_id and before_id exclude each other; send one' };
  }
  return { limit: Number(limit), afterId, beforeId };
}

/** A page in Anthropic's form; null when the model that it adjoins is not in the list. */
export function anthropicModelPage(
  models: readonly OfferedModel[],
  { limit, afterId, beforeId }: ModelPage,
): object | null {
  const cursor = afterId ?? beforeId;
  const at = cursor === null ? -1 : models.findIndex(({ id }) => id === cursor);
  if (cursor !== null && at < 0) return null;
  const [from, to] = beforeId === null ? [at + 1, at + 1 + limit] : [Math.max(0, at - limit), at];
  const some = models.slice(from, to);
  return {
    data: some.map(anthropicModel),
    has_more: beforeId === null ? to < models.length : from > 0,
    first_id: some[0]?.id ?? null,
    last_id: some.at(-1)?.id ?? null,
  };
}

const geminiSizeUsual = 50;

/** A page in Gemini's form; its token is the last id. Null for a token that is not in the list. */
export function geminiModelPage(
  models: readonly OfferedModel[],
  query: URLSearchParams,
): object | null {
  const token = query.get('pageToken') ?? '';
  const at = token === '' ? -1 : models.findIndex(({ id }) => id === token);
  if (token !== '' && at < 0) return null;
  const size = Number(query.get('pageSize') ?? geminiSizeUsual);
  const limit = Number.isSafeInteger(size) && size > 0 ? Math.min(size, limitMax) : geminiSizeUsual;
  const some = models.slice(at + 1, at + 1 + limit);
  const hasMore = at + 1 + limit < models.length;
  const next = hasMore ? { nextPageToken: some.at(-1)!.id } : {};
  return { models: some.map(geminiModel), ...next };
}
