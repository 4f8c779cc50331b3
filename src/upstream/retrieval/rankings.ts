/** Translates rankings between the one form of the gateway and those of Cohere, Voyage and Amazon Bedrock. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms, TranslationContext } from '../translation/translation.ts';

const members = ['model', 'query', 'documents', 'top_n', 'return_documents'];

/** Cohere returns no documents, so the gateway adds them; it takes texts only. */
export function cohereRanking(sent: Json, terms: RequestTerms): Json {
  const request = rankingIn(sent, terms, 'max_tokens_per_doc', 'priority');
  const { return_documents: _, ...others } = request.json();
  return { ...others, documents: documentsIn(request) };
}

/** Voyage bounds a ranking by `top_k`. */
export function voyageRanking(sent: Json, terms: RequestTerms): Json {
  const request = rankingIn(sent, terms, 'top_k', 'truncation');
  const { top_n: count, top_k: own, ...others } = request.json();
  const most = own ?? count;
  return {
    ...others,
    documents: documentsIn(request),
    ...(most === undefined ? {} : { top_k: most }),
  };
}

/** Models of Cohere need the version of their API in the body. */
export function bedrockRanking(sent: Json, terms: RequestTerms): Json {
  const request = rankingIn(sent, terms);
  const { model, query, top_n: count } = request.json();
  return {
    model,
    query,
    documents: documentsIn(request),
    ...(count === undefined ? {} : { top_n: count }),
    ...(/cohere/i.test(String(model)) ? { api_version: 2 } : {}),
  };
}

function rankingIn(sent: Json, terms: RequestTerms, ...more: readonly string[]): DocumentNode {
  const request = DocumentNode.ofRequest(sent, terms).only(...members, ...more);
  request.at('query').text();
  return request;
}

/** Each document is a text, or an object with one. */
function documentsIn(request: DocumentNode): string[] {
  const list = request.at('documents');
  return list.items().map((one) => (one.isText ? one.text() : one.only('text').at('text').text()));
}

/** The response in one form, beside the members of the service; documents only where they are requested. */
export function rankingResponse(body: unknown, about: TranslationContext): Json {
  const response = new DocumentNode(body);
  const { results, data } = response.json();
  const list = response.at(results === undefined && data !== undefined ? 'data' : 'results');
  const { model = about.model ?? '' } = response.json();
  return { ...response.json(), model, results: list.items().map((one) => resultOf(one, about)) };
}

function resultOf(result: DocumentNode, { request = {} }: TranslationContext): Json {
  const { document: own, ...others } = result.json();
  const index = result.at('index').number();
  result.at('relevance_score').number();
  if (request.return_documents !== true) return others;
  const document = own ?? (Array.isArray(request.documents) ? request.documents[index] : null);
  return { ...others, document: typeof document === 'string' ? { text: document } : document };
}
