/**
 * Reads embeddings and rankings in the forms of Amazon Bedrock, Vertex AI and Cohere. They contain texts alone, because
 * the tokens of pictures, sound and films could not be bounded.
 */
import type { PathAction } from '../../model/endpoints/path-action.ts';
import { isObject } from '../../model/json/read-object.ts';
import { cohereEmbedPath, embeddingInvokePath } from '../../model/services/retrieval-paths.ts';
import type { Json } from '../../upstream/documents/document-node.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ChangedMembers } from './gemini-members.ts';

/** Members of each form of InvokeModel; the first one selects it. */
const invokedForms: readonly (readonly string[])[] = [
  ['inputText', 'dimensions', 'normalize', 'embeddingTypes'],
  ['singleEmbeddingParams', 'taskType', 'schemaVersion'],
  ['texts', 'input_type', 'truncate', 'embedding_types', 'output_dimension', 'max_tokens'],
];
const novaMembers = ['embeddingPurpose', 'embeddingDimension', 'text'];
const novaTextMembers = ['truncationMode', 'value'];
const rankingMembers = ['query', 'documents', 'top_n', 'api_version', 'return_documents'];
const cohereMembers = [...invokedForms[2]!, 'model', 'priority'];
const predictedMembers = ['content', 'title', 'task_type', 'taskType'];

/**
 * Adds the model of the path to embeddings and rankings of InvokeModel; null for a body of another kind.
 *
 * @throws GatewayError for a member that contains anything but texts and settings, and for a stream
 */
export function invokedRetrieval(
  { model, isStream }: PathAction,
  params: Json,
): ChangedMembers | null {
  const form = invokedForms.find(([first]) => params[first!] !== undefined);
  const isRanking = form === undefined && params.query !== undefined;
  if (form === undefined && !isRanking) return null;
  if (isStream) {
    const message = 'Embeddings and rankings have no streams; send them to invoke';
    throw new GatewayError('invalid_request', message);
  }
  requireMembers(params, [...(form ?? rankingMembers), 'model'], '');
  if (params.model !== undefined && params.model !== model) {
    const message = 'The path names the model; remove model from the body';
    throw new GatewayError('invalid_request', message, 'model');
  }
  if (isRanking) {
    const { api_version: version, ...others } = params;
    const changes = new Map<string, unknown>([['model', model]]);
    if (version !== undefined) changes.set('api_version', undefined);
    return { params: { ...others, model }, changes, path: '/rerank' };
  }
  requireTexts(params);
  const changes = new Map<string, unknown>([['model', model]]);
  return { params: { ...params, model }, changes, path: embeddingInvokePath };
}

/**
 * Adds the model of the path to the texts of `predict`.
 *
 * @throws GatewayError for instances that are not texts to embed: this path also makes pictures and films
 */
export function predictMembers(model: string, params: Json): ChangedMembers {
  requireMembers(params, ['instances', 'parameters'], '');
  const { instances, parameters } = params;
  if (!Array.isArray(instances)) throw notText('instances');
  for (const [at, one] of instances.entries()) {
    const place = `instances[${at}]`;
    if (!isObject(one) || typeof one.content !== 'string') throw notText(`${place}.content`);
    requireMembers(one, predictedMembers, `${place}.`);
  }
  if (isObject(parameters)) {
    requireMembers(parameters, ['outputDimensionality', 'autoTruncate'], 'parameters.');
  } else if (parameters !== undefined) {
    throw new GatewayError('invalid_request', 'parameters must be an object', 'parameters');
  }
  return { params: { ...params, model }, changes: new Map([['model', model]]) };
}

/** @throws GatewayError for embeddings of Cohere of anything but texts; does nothing for another path */
export function requireEmbeddedTexts(path: string, params: Json): void {
  if (path !== cohereEmbedPath) return;
  requireMembers(params, cohereMembers, '');
  requireTexts(params);
}

function requireTexts({ inputText, singleEmbeddingParams: nova, texts }: Json): void {
  if (inputText !== undefined) {
    if (typeof inputText !== 'string') throw notText('inputText');
    return;
  }
  if (nova === undefined) {
    if (!isTexts(texts)) throw notText('texts');
    return;
  }
  const place = 'singleEmbeddingParams';
  const { text } = isObject(nova) ? nova : {};
  if (!isObject(nova) || !isObject(text)) throw notText(`${place}.text`);
  requireMembers(nova, novaMembers, `${place}.`);
  requireMembers(text, novaTextMembers, `${place}.text.`);
  if (typeof text.value !== 'string') throw notText(`${place}.text.value`);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function requireMembers(params: Json, known: readonly string[], place: string): void {
  const unknown = Object.keys(params).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const named = `${place}${unknown.slice(0, 40)}`;
  const message = `${named} is not served here: embeddings and rankings have texts alone, with ${known.join(', ')}`;
  throw new GatewayError('invalid_request', message, named);
}

function notText(place: string): GatewayError {
  const message = `${place} must be what is embedded: embeddings are served of texts alone`;
  return new GatewayError('invalid_request', message, place);
}
