/** Translates embeddings between OpenAI's form and that of Voyage, which has other names for sizes and purposes. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';

/** Voyage calls the purposes of Cohere by one word. */
const purposes = new Map<unknown, string>([
  ['search_document', 'document'],
  ['search_query', 'query'],
]);

/** @throws NotTranslatable */
export function voyageRequest(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  const { dimensions, encoding_format: format, input_type: type, ...others } = sent;
  const { user: _user, truncate: _truncate, ...same } = others;
  for (const name of ['user', 'truncate']) {
    if (!request.at(name).isAbsent) request.at(name).dropHint();
  }
  return {
    ...same,
    ...(type === undefined ? {} : { input_type: purposes.get(type) ?? type }),
    ...(dimensions === undefined ? {} : { output_dimension: dimensions }),
    // Numbers are the usual form, which Voyage does not name.
    ...(format === 'base64' ? { encoding_format: format } : {}),
  };
}

/** Adds the count that SDKs of OpenAI read. */
export function voyageResponse(body: unknown): Json {
  const response = new DocumentNode(body).json();
  const usage = Object(response.usage) as Json;
  return { ...response, usage: { prompt_tokens: usage.total_tokens, ...usage } };
}

/** Members that Voyage alone has. */
export const voyageMembers = ['output_dimension', 'output_dtype', 'truncation', 'input_type'];

/** For models of OpenAI, which refuse members that they do not know. */
export function fromVoyage(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  const { output_dimension: size, output_dtype: form, ...others } = sent;
  const { truncation: _truncation, input_type: _type, ...same } = others;
  for (const name of ['truncation', 'input_type']) {
    if (!request.at(name).isAbsent) request.at(name).dropHint();
  }
  if ((form ?? 'float') !== 'float') request.at('output_dtype').refuseUnsupported();
  return { ...same, ...((size ?? null) === null ? {} : { dimensions: size }) };
}
