/** Lists the translations of embeddings and rankings, by the path of the request and the dialect of the provider. */
import type { DialectName } from '../../model/services/provider-addresses.ts';
import { openAiModelServices } from '../../model/services/provider-addresses.ts';
import {
  cohereEmbedPath,
  embeddingInvokePath,
  nativeEmbeddingPaths,
  predictPath,
} from '../../model/services/retrieval-paths.ts';
import { converseError } from '../converse/chat-response-to-converse.ts';
import { geminiError } from '../gemini/gemini-errors.ts';
import {
  cohereRequest,
  cohereResponse,
  titanRequest,
  titanResponse,
} from '../retrieval/bedrock-embeddings.ts';
import {
  cohereEmbeddings,
  fromCohere,
  fromInvoked,
  invokedEmbeddings,
} from '../retrieval/invoked-embeddings.ts';
import {
  bedrockRanking,
  cohereRanking,
  rankingResponse,
  voyageRanking,
} from '../retrieval/rankings.ts';
import {
  fromPredict,
  predictedList,
  predictions,
  predictRequest,
} from '../retrieval/vertex-embeddings.ts';
import {
  fromVoyage,
  voyageMembers,
  voyageRequest,
  voyageResponse,
} from '../retrieval/voyage-embeddings.ts';
import { chainTranslations } from '../translation/chained-translation.ts';
import type { EventTranslation, Translation } from '../translation/translation.ts';
import { dialectFormats } from './all-dialects.ts';
import { batchEmbedToOpenAi, embedToOpenAi } from './gemini-translations.ts';

/** None of them has streams. */
const noEvents: EventTranslation = {
  pass: () => '',
  done: () => '',
  end: () => '',
  fail: () => '',
};

type Json = Readonly<Record<string, unknown>>;

const openAiError: Translation['error'] = ({ message, type }) => ({
  error: { message, type: type ?? 'api_error', param: null, code: null },
});

const embeddings = (
  request: Translation['request'],
  response: Translation['response'],
  error: Translation['error'] = openAiError,
): Translation => ({
  pathOf: () => '/embeddings',
  request,
  response,
  error,
  events: () => noEvents,
});
const ranking = (request: Translation['request']): Translation => ({
  ...embeddings(request, rankingResponse),
  pathOf: () => '/rerank',
});

/** From OpenAI's embeddings to those of a provider; absent for one that has the same. */
const embeddingsByDialect: Partial<Readonly<Record<DialectName, Translation>>> = {
  'bedrock-titan': embeddings(titanRequest, titanResponse),
  'bedrock-cohere': embeddings(cohereRequest, cohereResponse),
  'vertex-gemini': { ...embeddings(predictRequest, predictedList), pathOf: () => predictPath },
  voyage: embeddings(voyageRequest, voyageResponse),
};

const rankingsByDialect: Partial<Readonly<Record<DialectName, Translation>>> = {
  cohere: ranking(cohereRanking),
  voyage: ranking(voyageRanking),
  'bedrock-ranking': ranking(bedrockRanking),
};

/** From embeddings of another form to OpenAI's, by path. */
const toOpenAi: ReadonlyMap<string, Translation> = new Map([
  [embeddingInvokePath, embeddings(fromInvoked, invokedEmbeddings, converseError)],
  [
    cohereEmbedPath,
    embeddings(fromCohere, cohereEmbeddings, ({ message }) => ({ id: null, message })),
  ],
  [predictPath, embeddings(fromPredict, predictions, geminiError)],
  ['/v1beta/models:embedContent', embedToOpenAi],
  ['/v1beta/models:batchEmbedContents', batchEmbedToOpenAi],
]);

/** Dialects that receive embeddings of a path as they are. */
const ownForms: ReadonlyMap<string, readonly DialectName[]> = new Map([
  [embeddingInvokePath, ['bedrock-titan', 'bedrock-cohere']],
  [cohereEmbedPath, ['cohere']],
  [predictPath, ['vertex-gemini']],
  ['/v1beta/models:embedContent', ['gemini', 'vertex-gemini']],
  ['/v1beta/models:batchEmbedContents', ['gemini']],
]);

const voyageToOpenAi = embeddings(fromVoyage, (body) => body as Json);

/** A provider that is called, and the members of the request. */
interface RetrievalCall {
  readonly service: string;
  readonly dialect: DialectName;
  readonly params: Json;
}

/** Whether a provider embeds the texts of a request; true for a request of another kind. `path` is canonical. */
export function servesEmbeddings(path: string, dialect: DialectName): boolean {
  if (!nativeEmbeddingPaths.has(path) || ownForms.get(path)!.includes(dialect)) return true;
  return embeddingsByDialect[dialect] !== undefined || dialectFormats[dialect] === 'openai';
}

/** Null where the provider has the form of the request; `path` is canonical. */
export function retrievalTranslation(
  path: string,
  { service, dialect, params }: RetrievalCall,
): Translation | null {
  if (path === '/rerank') return rankingsByDialect[dialect] ?? null;
  const atProvider = embeddingsByDialect[dialect] ?? null;
  if (nativeEmbeddingPaths.has(path)) {
    if (ownForms.get(path)!.includes(dialect)) return null;
    const translated = toOpenAi.get(path)!;
    if (atProvider !== null) return chainTranslations(translated, atProvider);
    return dialectFormats[dialect] === 'openai' ? translated : null;
  }
  if (path !== '/embeddings') return null;
  const isOfVoyage =
    openAiModelServices.has(service) && voyageMembers.some((name) => params[name] !== undefined);
  return atProvider ?? (isOfVoyage ? voyageToOpenAi : null);
}
