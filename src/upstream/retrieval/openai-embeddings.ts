/** Builds requests for embeddings in OpenAI's form, and reads the vectors of their responses. */
import { DocumentNode, type Json } from '../documents/document-node.ts';

export interface Embeddings {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
}

export function openAiEmbeddings(
  request: DocumentNode,
  input: readonly string[],
  dimensions: DocumentNode,
): Json {
  return {
    model: request.at('model').text(),
    input,
    ...(dimensions.isAbsent ? {} : { dimensions: dimensions.number() }),
  };
}

/** @throws NotTranslatable */
export function embeddingsIn(body: unknown): Embeddings {
  const response = new DocumentNode(body);
  const vectors = response.at('data').items().map(vectorIn);
  const { prompt_tokens: input, total_tokens: total } = Object(response.json().usage) as Json;
  const tokens = [input, total].find((count) => typeof count === 'number') ?? 0;
  return { vectors, tokens: tokens as number };
}

function vectorIn(item: DocumentNode): number[] {
  const numbers = item.at('embedding').items();
  return numbers.map((one) => one.number());
}

/** The response for a caller of OpenAI's form, whose SDKs request 32-bit numbers in base64. */
export function embeddingList(
  vectors: readonly (readonly number[])[],
  tokens: number,
  { model = '', request }: { readonly model?: string; readonly request?: Json },
): Json {
  const isEncoded = request?.encoding_format === 'base64';
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: isEncoded
      ? Buffer.from(Float32Array.from(vector).buffer).toString('base64')
      : vector,
  }));
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}
