/** Lists the translations of embeddings and rankings, by the dialect of the provider. */
import type { DialectName } from '../../model/services/provider-addresses.ts';
import {
  cohereRequest,
  cohereResponse,
  titanRequest,
  titanResponse,
} from '../retrieval/bedrock-embeddings.ts';
import {
  bedrockRanking,
  cohereRanking,
  rankingResponse,
  voyageRanking,
} from '../retrieval/rankings.ts';
import type { EventTranslation, Translation } from '../translation/translation.ts';

/** Neither of them has streams. */
const noEvents: EventTranslation = {
  pass: () => '',
  done: () => '',
  end: () => '',
  fail: () => '',
};

const openAiError: Translation['error'] = ({ message, type }) => ({
  error: { message, type: type ?? 'api_error', param: null, code: null },
});

const embeddings = (
  request: Translation['request'],
  response: Translation['response'],
): Translation => ({
  pathOf: () => '/embeddings',
  request,
  response,
  error: openAiError,
  events: () => noEvents,
});
const ranking = (request: Translation['request']): Translation => ({
  ...embeddings(request, rankingResponse),
  pathOf: () => '/rerank',
});

const translations: ReadonlyMap<
  string,
  Partial<Readonly<Record<DialectName, Translation>>>
> = new Map([
  [
    '/embeddings',
    {
      'bedrock-titan': embeddings(titanRequest, titanResponse),
      'bedrock-cohere': embeddings(cohereRequest, cohereResponse),
    },
  ],
  [
    '/rerank',
    {
      cohere: ranking(cohereRanking),
      voyage: ranking(voyageRanking),
      'bedrock-ranking': ranking(bedrockRanking),
    },
  ],
]);

/** Null where the provider has the form of the gateway; `path` is below `/v1`. */
export function retrievalTranslation(path: string, dialect: DialectName): Translation | null {
  return translations.get(path)?.[dialect] ?? null;
}
