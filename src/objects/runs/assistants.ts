/** Handles assistants, which are named sets of model parameters that runs refer to. */
import {
  AssistantCreate,
  type AssistantTerms,
  AssistantUpdate,
} from '../../model/objects/assistant.ts';
import type { Database } from '../../store/connection/db.ts';
import type { StoredAssistant } from '../../store/objects/assistants.ts';
import * as assistants from '../../store/objects/assistants.ts';
import { newObjectId } from '../object-id.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';
import { respondWithPage } from './pages.ts';
import { assistantRecord } from './records.ts';
import { requireSearchableStores } from './searchable-stores.ts';

/** Defaults of an assistant that sets nothing but its model. */
const defaultTerms: Omit<AssistantTerms, 'model'> = {
  instructions: null,
  tools: [],
  temperature: null,
  top_p: null,
  response_format: 'auto',
  reasoning_effort: null,
  tool_resources: {},
};

interface AssistantParts {
  readonly database: Pick<Database, 'db'>;
  readonly search: StoreSearch;
}

/** Attempts of an update that conflicts with concurrent ones. */
const attemptsMax = 5;

export async function handleAssistants(
  { database: { db }, search }: AssistantParts,
  request: ObjectRequest,
): Promise<ObjectResponse | null> {
  const { id, method, rest, owner, query } = request;
  const operation = [method, ...rest].join(' ');
  if (id === null) {
    if (operation === 'POST') return { body: await create(db, search, request) };
    if (operation !== 'GET') return null;
    return respondWithPage(query, {
      find: (anchorId) => assistants.find(db, owner, anchorId),
      list: (page) => assistants.list(db, owner, page),
      record: assistantRecord,
    });
  }
  const row = await assistants.find(db, owner, id);
  if (row === undefined) return null;
  switch (operation) {
    case 'GET':
      return { body: assistantRecord(row) };
    case 'POST':
      return { body: assistantRecord(await change(db, search, request, row)) };
    case 'DELETE':
      await assistants.deleteById(db, owner, id);
      return { body: { id, object: 'assistant.deleted', deleted: true } };
    default:
      throw new ObjectError(
        'not_found',
        `An assistant does not support ${rest.join('/') || method}`,
      );
  }
}

async function create(db: Database['db'], search: StoreSearch, request: ObjectRequest) {
  const { owner, params, now } = request;
  const { name, description, metadata, tool_resources, ...terms } = readParams(
    AssistantCreate,
    params,
  );
  await requireSearchableStores(search, request, tool_resources);
  const row: StoredAssistant = {
    organisation_id: owner.organisationId,
    id: newObjectId('asst'),
    workspace_id: owner.workspaceId,
    api_key_id: owner.apiKeyId,
    name: name ?? null,
    description: description ?? null,
    terms: JSON.stringify({ ...defaultTerms, ...terms, tool_resources: tool_resources ?? {} }),
    metadata: JSON.stringify(metadata ?? {}),
    created_at: now,
  };
  await assistants.insert(db, row);
  return assistantRecord(row);
}

async function change(
  db: Database['db'],
  search: StoreSearch,
  request: ObjectRequest,
  read: StoredAssistant,
): Promise<StoredAssistant> {
  const { params, owner } = request;
  const { name, description, metadata, tool_resources, ...changed } = readParams(
    AssistantUpdate,
    params,
  );
  await requireSearchableStores(search, request, tool_resources);
  const terms = {
    ...changed,
    ...(tool_resources === undefined ? {} : { tool_resources: tool_resources ?? {} }),
  };
  let row: StoredAssistant | undefined = read;
  for (let attempt = 0; row !== undefined && attempt < attemptsMax; attempt += 1) {
    const set = {
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata ?? {}) }),
      terms: JSON.stringify({ ...(JSON.parse(row.terms) as AssistantTerms), ...terms }),
    };
    if (await assistants.update(db, row, set)) return { ...row, ...set };
    row = await assistants.find(db, owner, read.id);
  }
  throw new ObjectError('conflict', 'The assistant was changed concurrently too often');
}
