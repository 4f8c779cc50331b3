/** Translates embeddings between OpenAI's form and `predict` of Vertex AI. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms, TranslationContext } from '../translation/translation.ts';
import { embeddingList, embeddingsIn, openAiEmbeddings } from './openai-embeddings.ts';

/** Google's names for the purposes of vectors that Cohere names. */
const purposes = new Map<unknown, string>([
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['search_query', 'RETRIEVAL_QUERY'],
  ['classification', 'CLASSIFICATION'],
  ['clustering', 'CLUSTERING'],
]);

/** @throws NotTranslatable */
export function predictRequest(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  request.only('model', 'input', 'dimensions', 'encoding_format', 'user', 'input_type', 'truncate');
  for (const name of ['user', 'truncate']) {
    if (!request.at(name).isAbsent) request.at(name).dropHint();
  }
  const type = request.at('input_type');
  const purpose = purposes.get(type.value);
  if (!type.isAbsent && purpose === undefined) type.dropHint();
  const input = request.at('input');
  const texts = input.isText ? [input.text()] : input.items().map((one) => one.text());
  const size = request.at('dimensions');
  const task = purpose === undefined ? {} : { task_type: purpose };
  return {
    model: request.at('model').text(),
    instances: texts.map((content) => ({ content, ...task })),
    ...(size.isAbsent ? {} : { parameters: { outputDimensionality: size.value } }),
  };
}

/** @throws NotTranslatable */
export function predictedList(body: unknown, about: TranslationContext): Json {
  const predictions = new DocumentNode(body).at('predictions').items();
  const each = predictions.map((one) => one.at('embeddings'));
  const vectors = each.map((one) =>
    one
      .at('values')
      .items()
      .map((value) => value.number()),
  );
  const tokens = each.map((one) => {
    const { token_count: count } = Object(one.json().statistics) as Json;
    return typeof count === 'number' ? count : 0;
  });
  return embeddingList(
    vectors,
    tokens.reduce((sum, count) => sum + count, 0),
    about,
  );
}

/** @throws NotTranslatable */
export function fromPredict(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms).only('model', 'instances', 'parameters');
  const instances = request.at('instances').items();
  const input = instances.map((one) => {
    one.only('content', 'title', 'task_type', 'taskType');
    for (const name of ['title', 'task_type', 'taskType']) {
      if (!one.at(name).isAbsent) one.at(name).dropHint();
    }
    return one.at('content').text();
  });
  const parameters = request.at('parameters');
  if (parameters.isAbsent) return openAiEmbeddings(request, input, parameters);
  const cut = parameters.only('outputDimensionality', 'autoTruncate').at('autoTruncate');
  if (!cut.isAbsent) cut.dropHint();
  return openAiEmbeddings(request, input, parameters.at('outputDimensionality'));
}

/** The provider counts the tokens of all texts together, so the first one states them. */
export function predictions(body: unknown): Json {
  const { vectors, tokens } = embeddingsIn(body);
  return {
    predictions: vectors.map((values, at) => ({
      embeddings: { values, statistics: { truncated: false, token_count: at === 0 ? tokens : 0 } },
    })),
  };
}
