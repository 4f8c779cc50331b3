/** Translates embeddings of OpenAI's form to those of Titan, Nova and Cohere on Amazon Bedrock, and back. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms, TranslationContext } from '../translation/translation.ts';
import { embeddingList } from './openai-embeddings.ts';

/** @throws NotTranslatable for several texts, which Titan and Nova embed one by one */
export function titanRequest(sent: Json, terms: RequestTerms): Json {
  const request = embeddingsIn(sent, terms, 'input_type', 'truncate');
  for (const name of ['input_type', 'truncate']) {
    if (!request.at(name).isAbsent) request.at(name).dropHint();
  }
  const texts = textsIn(request.at('input'));
  if (texts.length !== 1) {
    request.at('input').refuse('must be one text for this model, which embeds one at a time');
  }
  const size = request.at('dimensions');
  const model = request.at('model').text();
  if (/nova/i.test(model)) return novaRequest(model, texts[0]!, size);
  return {
    model,
    inputText: texts[0],
    ...(size.isAbsent ? {} : { dimensions: size.value }),
  };
}

/** A text that is too long is cut at its end, as Titan does by itself. */
function novaRequest(model: string, value: string, size: DocumentNode): Json {
  return {
    model,
    taskType: 'SINGLE_EMBEDDING',
    singleEmbeddingParams: {
      embeddingPurpose: 'GENERIC_INDEX',
      ...(size.isAbsent ? {} : { embeddingDimension: size.value }),
      text: { truncationMode: 'END', value },
    },
  };
}

/** `input_type` is an extension of Cohere: what the texts are embedded for. */
export function cohereRequest(sent: Json, terms: RequestTerms): Json {
  const request = embeddingsIn(sent, terms, 'input_type', 'truncate');
  const { input_type: type, truncate } = request.json();
  const size = request.at('dimensions');
  return {
    model: request.at('model').text(),
    texts: textsIn(request.at('input')),
    input_type: type ?? 'search_document',
    embedding_types: ['float'],
    ...(truncate === undefined ? {} : { truncate }),
    ...(size.isAbsent ? {} : { output_dimension: size.value }),
  };
}

function embeddingsIn(sent: Json, terms: RequestTerms, ...more: readonly string[]): DocumentNode {
  const request = DocumentNode.ofRequest(sent, terms);
  request.only('model', 'input', 'dimensions', 'encoding_format', 'user', ...more);
  if (!request.at('user').isAbsent) request.at('user').dropHint();
  return request;
}

function textsIn(input: DocumentNode): string[] {
  return input.isText ? [input.text()] : input.items().map((one) => one.text());
}

/** @throws NotTranslatable */
export function titanResponse(body: unknown, about: TranslationContext): Json {
  const response = new DocumentNode(body);
  const { inputTextTokenCount: tokens } = response.json();
  const list = response.at('embeddings');
  const vector = numbersIn((list.isAbsent ? response : list.items()[0]!).at('embedding'));
  const count = typeof tokens === 'number' ? tokens : about.inputTokens;
  return embeddingList([vector], count ?? 0, about);
}

/** @throws NotTranslatable */
export function cohereResponse(body: unknown, about: TranslationContext): Json {
  const embeddings = new DocumentNode(body).at('embeddings');
  const vectors = Array.isArray(embeddings.value) ? embeddings : embeddings.at('float');
  return embeddingList(vectors.items().map(numbersIn), about.inputTokens ?? 0, about);
}

function numbersIn(vector: DocumentNode): number[] {
  return vector.items().map((one) => one.number());
}
