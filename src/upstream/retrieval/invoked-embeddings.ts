/** Translates embeddings in the forms of Titan, Nova and Cohere to OpenAI's, and back. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms, TranslationContext } from '../translation/translation.ts';
import { type Embeddings, embeddingsIn, openAiEmbeddings } from './openai-embeddings.ts';

/** @throws NotTranslatable */
export function fromInvoked(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  if (!request.at('inputText').isAbsent) return fromTitan(request);
  if (!request.at('singleEmbeddingParams').isAbsent) return fromNova(request);
  return fromCohere(sent, terms);
}

function fromTitan(request: DocumentNode): Json {
  request.only('model', 'inputText', 'dimensions', 'normalize', 'embeddingTypes');
  // Other providers return vectors of the length 1.
  const normalize = request.at('normalize');
  if (normalize.value === false) normalize.dropMeaning();
  requireFloats(request.at('embeddingTypes'));
  return openAiEmbeddings(request, [request.at('inputText').text()], request.at('dimensions'));
}

function fromNova(request: DocumentNode): Json {
  request.only('model', 'schemaVersion', 'taskType', 'singleEmbeddingParams');
  const task = request.at('taskType');
  if (!task.isAbsent && task.value !== 'SINGLE_EMBEDDING') task.refuseUnsupported();
  const params = request.at('singleEmbeddingParams');
  params.only('embeddingPurpose', 'embeddingDimension', 'text');
  const text = params.at('text').only('truncationMode', 'value');
  for (const hint of [params.at('embeddingPurpose'), text.at('truncationMode')]) {
    if (!hint.isAbsent) hint.dropHint();
  }
  return openAiEmbeddings(request, [text.at('value').text()], params.at('embeddingDimension'));
}

/** `input_type` and `truncate` remain for providers of Cohere's models, and hints at others. */
export function fromCohere(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  request.only('model', 'texts', 'output_dimension', 'embedding_types', ...cohereHints);
  requireFloats(request.at('embedding_types'));
  const extensions: Record<string, unknown> = {};
  for (const name of cohereHints) {
    const hint = request.at(name);
    if (hint.isAbsent) continue;
    if (terms.isIntermediate === true && ownHints.has(name)) extensions[name] = hint.value;
    else hint.dropHint();
  }
  const texts = request.at('texts').items();
  const input = texts.map((one) => one.text());
  return { ...openAiEmbeddings(request, input, request.at('output_dimension')), ...extensions };
}

const cohereHints = ['input_type', 'truncate', 'max_tokens', 'priority'];
const ownHints: ReadonlySet<string> = new Set(['input_type', 'truncate']);

function requireFloats(types: DocumentNode): void {
  if (!types.isAbsent && !isDeepStrictEqual(types.value, ['float'])) types.refuseUnsupported();
}

/** @throws NotTranslatable */
export function invokedEmbeddings(body: unknown, { request = {} }: TranslationContext): Json {
  const found = embeddingsIn(body);
  const { vectors, tokens } = found;
  if (request.inputText !== undefined) {
    const [embedding = []] = vectors;
    return { embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: tokens };
  }
  if (request.singleEmbeddingParams !== undefined) {
    return { embeddings: vectors.map((embedding) => ({ embeddingType: 'TEXT', embedding })) };
  }
  if (request.embedding_types !== undefined) return embeddingsByType(found, request);
  const { texts } = request;
  return { id: randomUUID(), texts, embeddings: vectors, response_type: 'embeddings_floats' };
}

function embeddingsByType({ vectors }: Embeddings, { texts }: Json): Json {
  const response_type = 'embeddings_by_type';
  return { id: randomUUID(), texts, embeddings: { float: vectors }, response_type };
}

/** @throws NotTranslatable */
export function cohereEmbeddings(body: unknown, { request = {} }: TranslationContext): Json {
  const found = embeddingsIn(body);
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: found.tokens } };
  return { ...embeddingsByType(found, request), meta };
}
