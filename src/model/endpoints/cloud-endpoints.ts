/** Lists the endpoints of Amazon Bedrock, Vertex AI and Cohere; most are served as the endpoint with the same bodies. */
import { conversePath } from '../services/bedrock-models.ts';
import { cohereEmbedPath, predictPath } from '../services/retrieval-paths.ts';
import { type EndpointFacts, endpoint, type ListedEndpoint } from './endpoint.ts';
import { geminiCountFacts, geminiEmbedFacts, generateFacts } from './gemini-endpoints.ts';
import {
  chatOfCohere,
  countFacts,
  embeddingFacts,
  messageFacts,
  textFacts,
} from './model-endpoints.ts';

/** Files of a bucket, which the account of the provider reads. */
const converseFacts: EndpointFacts = {
  name: 'converse',
  metering: 'converse',
  requestTexts: 'converse',
  responseTexts: 'converse',
  references: ['s3location'],
};

const bedrock = '/model/{model+}';
const publishers = '/projects/{project}/locations/{location}/publishers';
const claude = `${publishers}/anthropic/models`;
const google = `${publishers}/google/models/{model+}`;

const asMessages: EndpointFacts = { ...messageFacts, servedAs: '/messages' };
const asRanking: EndpointFacts = { ...textFacts, servedAs: '/rerank' };
const embedding: EndpointFacts = { ...embeddingFacts, name: 'embeddings' };
const asCount: EndpointFacts = { ...countFacts, servedAs: '/messages/count_tokens' };
const gemini = '/v1beta/models';

export const cloudEndpoints: readonly ListedEndpoint[] = [
  endpoint(`POST ${bedrock}/converse`, converseFacts),
  endpoint(`POST ${bedrock}/converse-stream`, { ...converseFacts, servedAs: conversePath }),
  endpoint(`POST ${bedrock}/invoke`, asMessages),
  endpoint(`POST ${bedrock}/invoke-with-response-stream`, asMessages),
  endpoint(`POST ${bedrock}/count-tokens`, asCount),
  // The body decides about these three.
  endpoint('POST /model/{embedding_model+}/invoke', embedding),
  endpoint('POST /model/{ranking_model+}/invoke', asRanking),
  endpoint('POST /model/{converse_model+}/count-tokens', {
    name: 'count_tokens',
    requestTexts: 'converse',
    references: converseFacts.references!,
  }),
  endpoint(`POST ${claude}/{model+}:rawPredict`, asMessages),
  endpoint(`POST ${claude}/{model+}:streamRawPredict`, asMessages),
  endpoint(`POST ${claude}/count-tokens:rawPredict`, asCount),
  endpoint(`POST ${google}:generateContent`, {
    ...generateFacts,
    servedAs: `${gemini}:generateContent`,
  }),
  endpoint(`POST ${google}:streamGenerateContent`, {
    ...generateFacts,
    servedAs: `${gemini}:streamGenerateContent`,
  }),
  endpoint(`POST ${google}:countTokens`, {
    ...geminiCountFacts,
    servedAs: `${gemini}:countTokens`,
  }),
  endpoint(`POST ${google}:embedContent`, {
    ...geminiEmbedFacts,
    servedAs: `${gemini}:embedContent`,
  }),
  endpoint(`POST ${google}:predict`, { ...embedding, servedAs: predictPath }),
  endpoint(`POST ${cohereEmbedPath}`, embedding),
  endpoint('POST /v2/rerank', asRanking),
  endpoint('POST /v2/chat', { ...chatOfCohere, servedAs: '/chat' }),
];
