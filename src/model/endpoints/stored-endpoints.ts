/** Lists the endpoints of the objects that providers or the gateway store for callers, by kind. */
import { type EndpointFacts, endpoint, type ListedEndpoint, type OwnedKind } from './endpoint.ts';
import { interactionsPath } from './interactions.ts';

/** A kind, what all of its endpoints have in common, and its operations behind the base. */
interface StoredKind {
  readonly owned: OwnedKind;
  readonly facts: EndpointFacts;
  /** `POST`, `GET {id}`, `POST {id}/cancel`, each with what differs. */
  readonly operations: Readonly<Record<string, EndpointFacts>>;
}

function owned(
  kind: OwnedKind['kind'],
  base: string,
  more: Partial<Pick<OwnedKind, 'capability' | 'servicesWithOwn' | 'makers'>> = {},
): OwnedKind {
  return { kind, base, capability: null, makers: [], ...more };
}

const fileReferences = ['file_id', 'file_ids'];
const storeReferences = [
  'vector_store_id',
  'vector_store_ids',
  'library_id',
  'library_ids',
  'collection_ids',
];
const skillReferences = ['skill_id', 'skill_ids'];
const containerReferences = ['container', 'container_id'];
const none: EndpointFacts = {};
/** The request is judged as it is stored. */
const writes: EndpointFacts = { requestTexts: 'stored' };
/** The response contains texts of models. */
const reads: EndpointFacts = { responseTexts: 'stored' };
const both: EndpointFacts = { ...writes, ...reads };
const form: EndpointFacts = { body: 'form' };
const unbounded: EndpointFacts = { metering: 'unbounded' };

/** Create, list, read and delete. */
const plain = { POST: none, GET: none, 'GET {id}': none, 'DELETE {id}': none };

const responses: StoredKind = {
  owned: owned('responses', '/responses', { capability: 'responses' }),
  facts: {
    references: [
      'previous_response_id',
      'comparison_response_id',
      'conversation',
      ...containerReferences,
      ...storeReferences,
      ...fileReferences,
      ...skillReferences,
    ],
  },
  operations: {
    POST: {
      name: 'responses',
      metering: 'responses',
      requestTexts: 'responses',
      responseTexts: 'responses',
    },
    GET: reads,
    'GET {id}': { responseTexts: 'responses' },
    'DELETE {id}': none,
    'POST {id}/cancel': { responseTexts: 'responses' },
    'GET {id}/input_items': reads,
    'POST compact': {
      metering: 'compact',
      requestTexts: 'responses',
      responseTexts: 'responses',
    },
    'POST input_tokens': { requestTexts: 'responses' },
  },
};

/** At OpenAI a conversation is a list of items with metadata; at Mistral every other request calls a model. */
const mistralConversation: EndpointFacts = {
  metering: 'conversations',
  storedMembers: ['items', 'metadata'],
  requestTexts: 'stored',
  responseTexts: 'stored',
};

const conversations: StoredKind = {
  owned: owned('conversations', '/conversations', {
    capability: 'responses',
    servicesWithOwn: ['mistral-ai'],
  }),
  facts: { references: [...containerReferences, ...storeReferences, ...fileReferences] },
  operations: {
    POST: mistralConversation,
    GET: reads,
    'GET {id}': reads,
    'POST {id}': mistralConversation,
    'DELETE {id}': none,
    'POST {id}/restart': { ...mistralConversation, storedMembers: null },
    'GET {id}/history': reads,
    'GET {id}/messages': reads,
    'POST {id}/items': writes,
    'GET {id}/items': reads,
    'GET {id}/items/{item}': reads,
    'DELETE {id}/items/{item}': none,
  },
};

const threads: StoredKind = {
  owned: owned('threads', '/threads', { capability: 'assistants' }),
  facts: { references: ['assistant_id', ...storeReferences, ...fileReferences] },
  operations: {
    POST: both,
    'POST runs': { ...both, metering: 'runs' },
    'GET {id}': reads,
    'POST {id}': both,
    'DELETE {id}': none,
    'POST {id}/messages': writes,
    'GET {id}/messages': reads,
    'GET {id}/messages/{item}': reads,
    'POST {id}/messages/{item}': both,
    'DELETE {id}/messages/{item}': none,
    'POST {id}/runs': { ...both, metering: 'runs' },
    'GET {id}/runs': reads,
    'GET {id}/runs/{item}': reads,
    'POST {id}/runs/{item}': both,
    'POST {id}/runs/{item}/cancel': both,
    'POST {id}/runs/{item}/submit_tool_outputs': both,
    'GET {id}/runs/{item}/steps': reads,
    'GET {id}/runs/{item}/steps/{item}': reads,
  },
};

const assistants: StoredKind = {
  owned: owned('assistants', '/assistants', { capability: 'assistants' }),
  facts: { references: [...storeReferences, ...fileReferences] },
  operations: {
    ...plain,
    POST: writes,
    'POST {id}': writes,
  },
};

const vectorStores: StoredKind = {
  owned: owned('vector_stores', '/vector_stores', { capability: 'vector_stores' }),
  facts: { references: fileReferences },
  operations: {
    ...plain,
    POST: writes,
    'POST {id}': writes,
    'POST {id}/search': both,
    'POST {id}/files': writes,
    'GET {id}/files': none,
    'GET {id}/files/{item}': none,
    'POST {id}/files/{item}': writes,
    'DELETE {id}/files/{item}': none,
    'GET {id}/files/{item}/content': reads,
    'POST {id}/file_batches': writes,
    'GET {id}/file_batches/{item}': none,
    'POST {id}/file_batches/{item}/cancel': writes,
    'GET {id}/file_batches/{item}/files': none,
  },
};

const files: StoredKind = {
  owned: owned('files', '/files', { capability: 'files' }),
  facts: {},
  operations: {
    ...plain,
    POST: { ...form, name: 'files' },
    GET: { name: 'files' },
    'GET {id}/content': none,
    'GET {id}/url': none,
  },
};

const uploads: StoredKind = {
  owned: owned('uploads', '/uploads'),
  facts: {},
  operations: {
    POST: none,
    'POST {id}/parts': form,
    'POST {id}/complete': none,
    'POST {id}/cancel': none,
  },
};

/** A provider executes the lines of a file, each of which may name any model and any output. */
const batches: StoredKind = {
  owned: owned('batches', '/batches'),
  facts: { references: ['input_file_id', 'input_files'] },
  operations: {
    POST: { metering: 'batches', name: 'batches' },
    GET: { name: 'batches' },
    'GET {id}': none,
    'GET {id}/output': none,
    'POST {id}/cancel': none,
  },
};

const messageBatches: StoredKind = {
  owned: owned('message_batches', '/messages/batches'),
  facts: {
    references: [
      ...containerReferences,
      ...fileReferences,
      ...skillReferences,
      'previous_message_id',
    ],
  },
  operations: {
    ...plain,
    POST: { metering: 'batches', ...writes },
    'POST {id}/cancel': writes,
    'GET {id}/results': none,
  },
};

/** Stored chats; a POST without an id calls a model and is no request about them. */
const chats: StoredKind = {
  owned: owned('chat_completions', '/chat/completions'),
  facts: {},
  operations: {
    GET: reads,
    'GET {id}': { responseTexts: 'chat_completions' },
    'POST {id}': { responseTexts: 'chat_completions' },
    'DELETE {id}': none,
    'GET {id}/messages': reads,
  },
};

/** Chats of Perplexity whose response is fetched later. */
const asyncChats: StoredKind = {
  owned: owned('async_chats', '/async/chat/completions'),
  facts: { references: fileReferences },
  operations: {
    POST: { metering: 'async_chats', requestTexts: 'unknown' },
    'GET {id}': { responseTexts: 'unknown' },
  },
};

const fineTuningJobs: StoredKind = {
  owned: owned('fine_tuning_jobs', '/fine_tuning/jobs'),
  facts: {
    references: [
      'training_file',
      'training_files',
      'validation_file',
      'validation_files',
      'from_checkpoint',
      ...fileReferences,
    ],
  },
  operations: {
    POST: unbounded,
    GET: none,
    'GET {id}': none,
    'GET {id}/events': none,
    'GET {id}/checkpoints': none,
    'POST {id}/cancel': none,
    'POST {id}/pause': none,
    'POST {id}/resume': none,
    'POST {id}/start': none,
  },
};

/** Everybody may read models; only those that jobs created are owned. */
const models: StoredKind = {
  owned: owned('models', '/models'),
  facts: {},
  operations: { 'DELETE {id}': none },
};

const checkpoints: StoredKind = {
  owned: owned('models', '/fine_tuning/checkpoints'),
  facts: {},
  operations: {
    'POST {id}/permissions': none,
    'GET {id}/permissions': none,
    'DELETE {id}/permissions/{item}': none,
  },
};

const evaluations: StoredKind = {
  owned: owned('evals', '/evals'),
  facts: { references: fileReferences },
  operations: {
    ...plain,
    'POST {id}': none,
    'POST {id}/runs': unbounded,
    'GET {id}/runs': none,
    'GET {id}/runs/{item}': none,
    'DELETE {id}/runs/{item}': none,
    'POST {id}/runs/{item}': none,
    'POST {id}/runs/{item}/cancel': none,
    'GET {id}/runs/{item}/output_items': reads,
    'GET {id}/runs/{item}/output_items/{item}': reads,
  },
};

const containers: StoredKind = {
  owned: owned('containers', '/containers'),
  facts: { references: [...fileReferences, ...skillReferences] },
  operations: {
    ...plain,
    'POST {id}/files': form,
    'GET {id}/files': none,
    'GET {id}/files/{item}': none,
    'DELETE {id}/files/{item}': none,
    'GET {id}/files/{item}/content': none,
  },
};

const skills: StoredKind = {
  owned: owned('skills', '/skills'),
  facts: { references: fileReferences },
  operations: {
    ...plain,
    POST: form,
    'POST {id}': none,
    'GET {id}/content': none,
    'POST {id}/versions': form,
    'GET {id}/versions': none,
    'GET {id}/versions/{item}': none,
    'DELETE {id}/versions/{item}': none,
    'GET {id}/versions/{item}/content': none,
  },
};

const videos: StoredKind = {
  owned: owned('videos', '/videos', {
    makers: ['edits', 'extensions', 'remix'],
  }),
  facts: { references: ['video', 'characters', ...fileReferences] },
  operations: {
    ...plain,
    POST: { ...unbounded, ...form },
    'POST edits': { ...unbounded, ...form },
    'POST extensions': { ...unbounded, ...form },
    'POST {id}/remix': unbounded,
    'GET {id}/content': none,
  },
};

const videoCharacters: StoredKind = {
  owned: owned('video_characters', '/videos/characters'),
  facts: { references: fileReferences },
  operations: { POST: form, 'GET {id}': none },
};

/** Conversations of Gemini, each step of which is an object that a later one continues. */
const interactions: StoredKind = {
  owned: owned('interactions', interactionsPath),
  facts: {
    references: ['previous_interaction_id', 'cached_content', 'file_search_store_names', 'uri'],
  },
  operations: {
    POST: {
      name: 'interactions',
      metering: 'interactions',
      requestTexts: 'unknown',
      responseTexts: 'unknown',
    },
    'GET {id}': { responseTexts: 'unknown' },
    'DELETE {id}': none,
    'POST {id}/cancel': { responseTexts: 'unknown' },
  },
};

const storedKinds: readonly StoredKind[] = [
  responses,
  conversations,
  threads,
  assistants,
  vectorStores,
  files,
  uploads,
  batches,
  messageBatches,
  chats,
  asyncChats,
  fineTuningJobs,
  models,
  checkpoints,
  evaluations,
  containers,
  skills,
  videos,
  videoCharacters,
  interactions,
];

export const storedEndpoints: readonly ListedEndpoint[] = storedKinds.flatMap((stored) =>
  Object.entries(stored.operations).map(([operation, facts]) => {
    const [method, below] = operation.split(' ');
    const path = below === undefined ? stored.owned.base : `${stored.owned.base}/${below}`;
    return endpoint(`${method} ${path}`, { ...stored.facts, ...facts, owned: stored.owned });
  }),
);
