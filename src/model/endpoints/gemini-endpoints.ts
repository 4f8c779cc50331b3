/** Lists the endpoints of Gemini, whose paths are not below `/v1`. */
import { type EndpointFacts, endpoint, type ListedEndpoint } from './endpoint.ts';

/** Files and cached contents that the account of the provider stores. */
const references = ['fileuri', 'cachedcontent'];

export const generateFacts: EndpointFacts = {
  name: 'generate_content',
  metering: 'gemini',
  requestTexts: 'gemini',
  responseTexts: 'gemini',
  references,
};
export const geminiCountFacts: EndpointFacts = {
  name: 'count_tokens',
  requestTexts: 'gemini',
  references,
};
export const geminiEmbedFacts: EndpointFacts = {
  name: 'embed_content',
  metering: 'input',
  requestTexts: 'embeddings',
  references,
};
const model = '/v1beta/models/{model+}';

/** Sessions of the live API; a session is served as this path whatever its client calls. */
const live: EndpointFacts = {
  name: 'realtime',
  metering: 'live',
  requestTexts: 'unknown',
  responseTexts: 'unknown',
};
const livePath = '/v1beta/live';
const livePaths = [
  ...['v1', 'v1beta', 'v1alpha'].flatMap((version) =>
    ['BidiGenerateContent', 'BidiGenerateContentConstrained'].map(
      (method) => `/ws/google.ai.generativelanguage.${version}.GenerativeService.${method}`,
    ),
  ),
  ...['v1', 'v1beta1'].map(
    (version) => `/ws/google.cloud.aiplatform.${version}.LlmBidiService/BidiGenerateContent`,
  ),
];

export const geminiEndpoints: readonly ListedEndpoint[] = [
  endpoint(`POST ${model}:generateContent`, generateFacts),
  endpoint(`POST ${model}:streamGenerateContent`, generateFacts),
  endpoint(`POST ${model}:countTokens`, geminiCountFacts),
  endpoint(`POST ${model}:embedContent`, geminiEmbedFacts),
  endpoint(`POST ${model}:batchEmbedContents`, geminiEmbedFacts),
  // Embeddings of texts alone, in the form of Vertex AI.
  endpoint(`POST ${model}:predict`, {
    name: 'embeddings',
    metering: 'input',
    requestTexts: 'embeddings',
  }),
  endpoint('GET /v1beta/models', { name: 'models' }),
  endpoint(`GET ${model}`),
  endpoint('POST /v1alpha/auth_tokens', { name: 'realtime_secrets' }),
  endpoint(`GET ${livePath}`, live),
  ...livePaths.map((path) => endpoint(`GET ${path}`, { ...live, servedAs: livePath })),
];
