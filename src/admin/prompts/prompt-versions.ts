/** HTTP routes for the versions of prompts: list, get, label and publish. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { PromptPublish, PromptVersionUpdate } from '../../model/prompts/prompt.ts';
import { promptModel } from '../../model/prompts/prompt-content.ts';
import { splitReference } from '../../model/prompts/prompt-reference.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptLabels from '../../store/prompts/prompt-labels.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import * as prompts from '../../store/prompts/prompts.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type ResourceWriter, updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { findVisible } from './prompt-access.ts';
import {
  PromptRecord,
  PromptVersionItem,
  promptToRecord,
  promptToVersionItem,
} from './prompt-record.ts';

const item = { mounts: everyMount, path: '/prompts/:promptId' };
const { workspace_id } = updateFields;

export const VersionQuery = WorkspaceQuery.extend({
  /** A number, `latest`, `default`, an id, or the name of a label. */
  version: z.string().min(1).max(255).optional(),
});
const PageQuery = WorkspaceQuery.extend(pageQuery());
const PublicationBody = PromptPublish.extend({ workspace_id });
const VersionBody = PromptVersionUpdate.extend({ workspace_id });

export function promptVersionRoutes(
  deps: AdminDeps,
  writer: ResourceWriter<prompts.StoredPrompt>,
): Route<Principal>[] {
  const versions = { ...item, path: `${item.path}/versions` };
  const version = { ...item, path: `${versions.path}/:versionId` };
  return [
    route({
      ...versions,
      method: 'GET',
      scope: 'prompts.read',
      summary: 'List the versions of a prompt, newest first',
      query: PageQuery,
      response: listSchema(PromptVersionItem),
      handle: (request) => list(deps, request),
    }),
    route({
      ...version,
      method: 'GET',
      scope: 'prompts.read',
      summary: 'Get a prompt with one of its versions',
      query: WorkspaceQuery,
      response: PromptRecord,
      handle: (request) => {
        const { promptId, versionId } = request.params;
        return getVersion(deps, request, { name: promptId!, version: versionId! });
      },
    }),
    route({
      ...version,
      method: 'PUT',
      scope: 'prompts.update',
      versioned: true,
      summary: 'Set or remove the label of a version; other versions lose the label',
      body: VersionBody,
      response: z.object({}),
      handle: (request) => label(deps, request, writer),
    }),
    route({
      ...item,
      path: `${item.path}/makeDefault`,
      method: 'PUT',
      scope: 'prompts.publish',
      versioned: true,
      summary: 'Publish a version of a prompt',
      body: PublicationBody,
      response: z.object({}),
      handle: (request) => publish(deps, request, writer),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof PageQuery>>) {
  const db = deps.database.readable;
  const row = await find(db, request, request.params.promptId!);
  const page = await promptVersions.list(db, row, toPage(request.query));
  const items = async function* () {
    for await (const version of page.rows) yield promptToVersionItem(row, version);
  };
  return listReply(items(), page.total);
}

interface VersionReference {
  /** Id or slug of the prompt. */
  readonly name: string;
  readonly version: string;
}

/**
 * The version that a get names: after an `@` in the path, as where prompts are used, or in the query.
 *
 * @throws ApiError `invalid` when path and query name different versions
 */
export function versionReferenceOf(
  { params, query }: QueryRequest<z.infer<typeof VersionQuery>>,
  param: 'promptId' | 'partialId',
): VersionReference {
  const [name, behind] = splitReference(params[param]!);
  const { version = behind ?? 'default' } = query;
  if (behind === undefined || behind === version) return { name, version };
  const message = 'differs from the version after the @ in the path';
  throw validationError({ path: ['version'], message });
}

/** Returns a prompt with the requested version. */
export async function getVersion(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof WorkspaceQuery>>,
  reference: VersionReference,
) {
  const db = deps.database.readable;
  const row = await find(db, request, reference.name);
  const version = await promptVersions.find(db, row, reference.version);
  if (version === undefined) throw new ApiError('notFound', undefined, 'version');
  const { label_id: labelId } = version;
  const bears =
    labelId === null ? undefined : await promptLabels.findById(db, row.organisation_id, labelId);
  return withVersionTag(promptToRecord(row, version, bears), row);
}

function find(db: Db, request: QueryRequest<z.infer<typeof WorkspaceQuery>>, name: string) {
  const finding = prompts.findByIdOrSlug(db, request.caller.organisationId, name);
  return findVisible(db, request, finding);
}

async function label(
  deps: AdminDeps,
  request: BodyRequest<z.infer<typeof VersionBody>>,
  writer: ResourceWriter<prompts.StoredPrompt>,
) {
  const { body, params } = request;
  const { label_id: labelId } = body;
  await updateResource(deps, request, writer, {
    columns: () => ({}),
    writeElsewhere: async (tx, row) => {
      const version = await promptVersions.find(tx, row, params.versionId!);
      if (version === undefined) throw new ApiError('notFound', undefined, 'versionId');
      if (labelId === undefined || labelId === version.label_id) return [];
      if (labelId !== null) await requireLabel(tx, row, labelId);
      await promptVersions.updateLabel(tx, row, version.number, labelId);
      return ['label_id'];
    },
  });
  return {};
}

/**
 * Requires a label of the prompt's workspace or of the organisation and locks it until the transaction ends.
 */
async function requireLabel(tx: Db, prompt: prompts.StoredPrompt, labelId: string): Promise<void> {
  const row = await promptLabels.findByIdForUpdate(tx, prompt.organisation_id, labelId);
  if (row !== undefined && [null, prompt.workspace_id].includes(row.workspace_id)) return;
  throw validationError({ path: ['label_id'], message: 'is not a known label' });
}

async function publish(
  deps: AdminDeps,
  request: BodyRequest<z.infer<typeof PublicationBody>>,
  writer: ResourceWriter<prompts.StoredPrompt>,
) {
  const { version: number } = request.body;
  await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      const version = await promptVersions.find(tx, row, String(number));
      if (version === undefined) throw new ApiError('notFound', undefined, 'version');
      return {
        content: version.content,
        model: promptModel(JSON.parse(version.content)),
        version_id: version.id,
        version_number: version.number,
      };
    },
  });
  return {};
}
