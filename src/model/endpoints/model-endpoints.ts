/** Lists the endpoints at which providers call models, and those that read public facts, by format. */
import { type EndpointFacts, endpoint, type ListedEndpoint } from './endpoint.ts';

const fileReferences = ['file_id', 'file_ids'];
/** Collections of documents that the account of the provider stores. */
const storeReferences = [
  'vector_store_id',
  'vector_store_ids',
  'file_search_store_names',
  'library_id',
  'library_ids',
  'collection_ids',
];

const chat: EndpointFacts = {
  metering: 'chat_completions',
  requestTexts: 'chat_completions',
  responseTexts: 'chat_completions',
  references: [
    ...fileReferences,
    ...storeReferences,
    'cached_content',
    'audio',
    'previous_response_id',
  ],
};
const completions: EndpointFacts = {
  metering: 'completions',
  references: fileReferences,
  requestTexts: 'completions',
  responseTexts: 'completions',
};
export const embeddingFacts: EndpointFacts = {
  metering: 'input',
  requestTexts: 'embeddings',
  references: fileReferences,
};
/** Rankings and classifications: all texts come from the caller, and none is written. */
export const textFacts: EndpointFacts = {
  metering: 'input',
  requestTexts: 'unknown',
  responseTexts: 'unknown',
  references: [...fileReferences, ...storeReferences],
};
const pictures: EndpointFacts = {
  metering: 'images',
  requestTexts: 'unknown',
  responseTexts: 'unknown',
  references: fileReferences,
};
const speech: EndpointFacts = { metering: 'speech', requestTexts: 'unknown' };
const transcription: EndpointFacts = {
  metering: 'transcriptions',
  body: 'form',
  requestTexts: 'unknown',
  responseTexts: 'unknown',
  references: fileReferences,
};

/** OpenAI's format, which most providers accept. */
const openAi: readonly ListedEndpoint[] = [
  endpoint('POST /chat/completions', { ...chat, name: 'chat_completions' }),
  endpoint('POST /completions', { ...completions, name: 'completions' }),
  endpoint('POST /embeddings', { ...embeddingFacts, name: 'embeddings' }),
  endpoint('POST /moderations', { ...textFacts, name: 'moderations' }),
  endpoint('POST /images/generations', { ...pictures, name: 'image_generations' }),
  endpoint('POST /images/edits', { ...pictures, body: 'form' }),
  endpoint('POST /images/variations', { ...pictures, body: 'form' }),
  endpoint('POST /audio/speech', { ...speech, name: 'audio_speech' }),
  endpoint('POST /audio/transcriptions', { ...transcription, name: 'audio_transcriptions' }),
  endpoint('POST /audio/translations', transcription),
  endpoint('POST /decisions', {
    metering: 'unbounded',
    requestTexts: 'unknown',
    responseTexts: 'unknown',
    references: [...fileReferences, ...storeReferences, 'previous_response_id', 'conversation'],
  }),
  endpoint('POST /content_provenance_checks', { body: 'form', references: fileReferences }),
  endpoint('POST /fine_tuning/alpha/graders/run', {
    metering: 'unbounded',
    requestTexts: 'unknown',
    responseTexts: 'unknown',
    references: fileReferences,
  }),
  endpoint('POST /fine_tuning/alpha/graders/validate', { requestTexts: 'unknown' }),
  endpoint('GET /realtime', {
    name: 'realtime',
    metering: 'realtime',
    requestTexts: 'unknown',
    responseTexts: 'unknown',
  }),
  endpoint('POST /realtime/client_secrets', { name: 'realtime_secrets' }),
  endpoint('POST /realtime/sessions', { name: 'realtime_secrets' }),
  endpoint('GET /models', { name: 'models' }),
  endpoint('GET /models/{model+}'),
  endpoint('POST /engines/{model}/completions', completions),
  endpoint('POST /engines/{model}/embeddings', embeddingFacts),
];

/** Azure, where the deployment in the path selects the model. */
const azure: readonly ListedEndpoint[] = [
  '/deployments/{model}',
  '/openai/deployments/{model}',
].flatMap((base) => [
  endpoint(`POST ${base}/chat/completions`, chat),
  endpoint(`POST ${base}/completions`, completions),
  endpoint(`POST ${base}/embeddings`, embeddingFacts),
  endpoint(`POST ${base}/images/generations`, pictures),
  endpoint(`POST ${base}/images/edits`, { ...pictures, body: 'form' }),
  endpoint(`POST ${base}/audio/speech`, speech),
  endpoint(`POST ${base}/audio/transcriptions`, transcription),
  endpoint(`POST ${base}/audio/translations`, transcription),
]);

const messageReferences = [
  ...fileReferences,
  ...storeReferences,
  'container',
  'container_id',
  'skill_id',
  'skill_ids',
  'previous_message_id',
];

export const messageFacts: EndpointFacts = {
  name: 'messages',
  metering: 'messages',
  requestTexts: 'messages',
  responseTexts: 'messages',
  references: messageReferences,
};
export const countFacts: EndpointFacts = {
  name: 'count_tokens',
  requestTexts: 'messages',
  references: messageReferences,
};

const anthropic: readonly ListedEndpoint[] = [
  endpoint('POST /messages', messageFacts),
  endpoint('POST /messages/count_tokens', countFacts),
  endpoint('POST /complete', {
    metering: 'anthropic_completions',
    requestTexts: 'completions',
    responseTexts: 'unknown',
  }),
];

const mistral: readonly ListedEndpoint[] = [
  endpoint('POST /fim/completions', {
    metering: 'completions',
    requestTexts: 'unknown',
    responseTexts: 'chat_completions',
    references: fileReferences,
  }),
  endpoint('POST /agents/completions', { ...chat, metering: 'agent_completions' }),
  endpoint('POST /chat/moderations', textFacts),
  endpoint('POST /classifications', textFacts),
  endpoint('POST /chat/classifications', textFacts),
  endpoint('POST /ocr', {
    metering: 'unbounded',
    requestTexts: 'unknown',
    responseTexts: 'unknown',
    references: fileReferences,
  }),
];

export const chatOfCohere: EndpointFacts = {
  metering: 'completions',
  requestTexts: 'unknown',
  responseTexts: 'unknown',
  references: ['conversation_id'],
};

/** Rankings and embeddings of Cohere, Voyage, Jina, Together, vLLM and others, and chats of Cohere. */
const rankings: readonly ListedEndpoint[] = [
  endpoint('POST /rerank', textFacts),
  endpoint('POST /score', textFacts),
  endpoint('POST /pooling', textFacts),
  endpoint('POST /classify', textFacts),
  endpoint('POST /embed', textFacts),
  endpoint('POST /contextualizedembeddings', textFacts),
  endpoint('POST /multimodalembeddings', { ...textFacts, metering: 'unbounded' }),
  endpoint('POST /tokenize', { requestTexts: 'unknown' }),
  endpoint('POST /tokenize-text', { requestTexts: 'unknown' }),
  endpoint('POST /detokenize'),
  endpoint('POST /chat', chatOfCohere),
];

/** Model lists of xAI, which name prices and abilities, and the search of Perplexity. */
const others: readonly ListedEndpoint[] = [
  ...['/language-models', '/embedding-models', '/image-generation-models'].flatMap((base) => [
    endpoint(`GET ${base}`),
    endpoint(`GET ${base}/{model}`),
  ]),
  endpoint('GET /providers'),
  endpoint('POST /search', textFacts),
];

export const modelEndpoints: readonly ListedEndpoint[] = [
  ...openAi,
  ...azure,
  ...anthropic,
  ...mistral,
  ...rankings,
  ...others,
];
