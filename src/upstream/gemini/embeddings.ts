/** Translates embeddings of Gemini's form to those of OpenAI's, and back. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { dropHints } from './gemini-turns-to-chat.ts';

/** Members that say what a vector is for, or what happens to long texts. */
const hints = ['taskType', 'title', 'autoTruncate', 'documentOcr', 'audioTrackExtraction'];

/** @throws NotTranslatable */
export function embeddingsRequest(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms);
  const list = request.at('requests');
  const each = list.isAbsent ? [request] : list.items();
  const input = each.map((one) => textOf(one, list.isAbsent ? ['model'] : []));
  if (!list.isAbsent) request.only('model', 'requests');
  const [first] = each;
  const size = first === undefined ? undefined : first.at('outputDimensionality').value;
  for (const one of each) {
    if (one.at('outputDimensionality').value !== size) {
      one.at('outputDimensionality').refuse('must be the same for all texts at this provider');
    }
  }
  return {
    model: request.at('model').text(),
    input,
    ...((size ?? null) === null ? {} : { dimensions: size }),
  };
}

function textOf(one: DocumentNode, more: readonly string[]): string {
  one.only('content', 'outputDimensionality', ...hints, ...more);
  dropHints(one, hints);
  const content = one.at('content');
  if (content.isText) return content.text();
  const parts = content.only('role', 'parts').at('parts');
  return parts
    .items()
    .map((part) => part.only('text').at('text').text())
    .join('');
}

/** @throws NotTranslatable */
export function oneEmbedding(body: unknown): Json {
  const [embedding] = vectorsIn(body);
  return { embedding: embedding ?? new DocumentNode(body).at('data').refuse('must not be empty') };
}

/** @throws NotTranslatable */
export function manyEmbeddings(body: unknown): Json {
  return { embeddings: vectorsIn(body) };
}

function vectorsIn(body: unknown): Json[] {
  return new DocumentNode(body)
    .at('data')
    .items()
    .map((item) => ({
      values: item
        .at('embedding')
        .items()
        .map(({ value }) => value),
    }));
}
