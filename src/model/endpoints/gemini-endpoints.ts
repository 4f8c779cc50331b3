/** Lists the endpoints of Gemini, whose paths are not below `/v1`. */
import { type EndpointFacts, endpoint, type ListedEndpoint } from './endpoint.ts';

/** Files and cached contents that the account of the provider stores. */
const references = ['fileuri', 'cachedcontent'];

const generate: EndpointFacts = {
  metering: 'gemini',
  requestTexts: 'gemini',
  responseTexts: 'gemini',
  references,
};
const embed: EndpointFacts = { metering: 'input', requestTexts: 'embeddings', references };
const model = '/v1beta/models/{model+}';

export const geminiEndpoints: readonly ListedEndpoint[] = [
  endpoint(`POST ${model}:generateContent`, { ...generate, name: 'generate_content' }),
  endpoint(`POST ${model}:streamGenerateContent`, { ...generate, name: 'generate_content' }),
  endpoint(`POST ${model}:countTokens`, {
    name: 'count_tokens',
    requestTexts: 'gemini',
    references,
  }),
  endpoint(`POST ${model}:embedContent`, { ...embed, name: 'embed_content' }),
  endpoint(`POST ${model}:batchEmbedContents`, { ...embed, name: 'embed_content' }),
  endpoint('GET /v1beta/models', { name: 'models' }),
  endpoint(`GET ${model}`),
];
