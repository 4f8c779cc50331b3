/** Lists the members that the query of each endpoint may have; all others are refused. */

/** Version of the API of Azure, and the mark of beta requests of the OpenAI and Anthropic SDKs. */
export const commonQueryMembers: readonly string[] = ['api-version', 'beta'];

/** Pages in the forms of OpenAI and Anthropic. */
const page = ['limit', 'order', 'after', 'before', 'after_id', 'before_id', 'page'];
/** Pages in the form of Mistral and Cohere. */
const sizedPage = [...page, 'page_size', 'page_token'];

/** By method and path; every endpoint that is absent has the common members only. */
const membersByEndpoint: Readonly<Record<string, readonly string[]>> = {
  'GET /models': [...sizedPage, 'lifecycle', 'pageSize', 'pageToken'],
  'GET /v1beta/models': ['pageSize', 'pageToken'],
  'POST /v1beta/models/{model+}:generateContent': ['alt'],
  'POST /v1beta/models/{model+}:streamGenerateContent': ['alt'],
  'POST /v1beta/models/{model+}:countTokens': ['alt'],
  'POST /v1beta/models/{model+}:embedContent': ['alt'],
  'POST /v1beta/models/{model+}:batchEmbedContents': ['alt'],
  'POST /v1beta/models/{model+}:predict': ['alt'],
  'POST /v1beta/interactions': ['alt'],
  'GET /v1beta/interactions/{id}': ['alt', 'stream', 'last_event_id', 'include_input'],
  'GET /realtime': ['model', 'intent'],
  'GET /responses': page,
  'GET /responses/{id}': ['include', 'include_obfuscation', 'starting_after', 'stream'],
  'GET /responses/{id}/input_items': [...page, 'include'],
  'GET /conversations': [...sizedPage, 'metadata'],
  'POST /conversations/{id}/items': ['include'],
  'GET /conversations/{id}/items': [...page, 'include'],
  'GET /conversations/{id}/items/{item}': ['include'],
  'GET /threads/{id}/messages': [...page, 'run_id'],
  'POST /threads/{id}/runs': ['include'],
  'GET /threads/{id}/runs': page,
  'GET /threads/{id}/runs/{item}/steps': [...page, 'include'],
  'GET /threads/{id}/runs/{item}/steps/{item}': ['include'],
  'GET /assistants': page,
  'GET /vector_stores': page,
  'GET /vector_stores/{id}/files': [...page, 'filter'],
  'GET /vector_stores/{id}/file_batches/{item}/files': [...page, 'filter'],
  'GET /files': [...sizedPage, 'purpose', 'include_total', 'sample_type', 'source', 'search'],
  'GET /files/{id}/url': ['expiry'],
  'GET /batches': page,
  'GET /messages/batches': page,
  'GET /chat/completions': [...page, 'metadata', 'model'],
  'GET /chat/completions/{id}/messages': page,
  'GET /fine_tuning/jobs': [...sizedPage, 'metadata', 'model', 'status'],
  'GET /fine_tuning/jobs/{id}/events': page,
  'GET /fine_tuning/jobs/{id}/checkpoints': page,
  'GET /fine_tuning/checkpoints/{id}/permissions': [...page, 'project_id'],
  'GET /evals': [...page, 'order_by'],
  'GET /evals/{id}/runs': [...page, 'status'],
  'GET /evals/{id}/runs/{item}/output_items': [...page, 'status'],
  'GET /containers': [...page, 'name'],
  'GET /containers/{id}/files': page,
  'GET /skills': [...page, 'source'],
  'GET /skills/{id}/versions': page,
  'GET /videos': page,
  'GET /videos/{id}/content': ['variant'],
};

const none: readonly string[] = [];

/** `request` is a method and a path of the catalogue. */
export function queryMembersOf(request: string): readonly string[] {
  return membersByEndpoint[request] ?? none;
}

/** Endpoints with members of their own. */
export const endpointsWithQuery: readonly string[] = Object.keys(membersByEndpoint);
