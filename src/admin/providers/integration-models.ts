/** HTTP routes for the models of an integration: the service's catalogue and settings of single models. */
import { z } from 'zod';
import { modelSecretLocations } from '../../auth/integration-secrets.ts';
import type { Principal } from '../../auth/principal.ts';
import { maskSecrets } from '../../auth/secret-values.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import {
  IntegrationModelsPut,
  type ModelSetting,
  modelsMax,
  PricingAdjustments,
  PricingConfig,
} from '../../model/providers/integration.ts';
import { modelsFaults } from '../../model/providers/integration-faults.ts';
import { aiProviders } from '../../model/services/ai-providers.ts';
import { commaList } from '../../model/wire/comma-list.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { JsonRecord, rewriteDocument } from '../../model/wire/json-record.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';
import { rejectFaults, validationError } from '../../model/wire/validation-error.ts';
import type * as integrations from '../../store/resources/integrations.ts';
import { type AdminDeps, type AdminRequest, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  type UpdateFields,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type ResourceUpdate, updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { findReadable, integrationScopes } from './integration-access.ts';
import { integrationWriter } from './integration-changes.ts';
import { readModels } from './integration-record.ts';
import { requireMeantAddresses } from './integration-secrets.ts';
import { sealedModels } from './integration-values.ts';

const path = '/integrations/:integrationId/models';

const PutBody = IntegrationModelsPut.extend({ workspace_id: updateFields.workspace_id });
const DeleteBody = z.object({
  models: z.array(z.string().min(1).max(255)).max(modelsMax).optional(),
});
/** Without `page_size` the list is one page. */
const ListQuery = WorkspaceQuery.extend({
  page_size: wholeNumberParameter(1, modelsMax).optional(),
  current_page: wholeNumberParameter(0, modelsMax).default(0),
});
const DeleteQuery = WorkspaceQuery.extend({
  /** Comma-separated. */
  slugs: z
    .string()
    .transform((text) => commaList(text).filter((slug) => slug !== ''))
    .pipe(z.array(z.string()).max(modelsMax))
    .optional(),
});

const Model = z.object({
  slug: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  is_custom: z.boolean(),
  is_finetune: z.boolean(),
  base_model_slug: z.string().nullable(),
  configurations: JsonRecord.nullable(),
  pricing_config: PricingConfig.nullable(),
  pricing_adjustments: PricingAdjustments.nullable(),
});
const ModelList = z.object({
  object: z.literal('list'),
  total: z.int().min(0),
  allow_all_models: z.boolean(),
  models: z.array(Model),
});

type PutRequest = BodyRequest<z.infer<typeof PutBody>>;

export function integrationModelRoutes(deps: AdminDeps): Route<Principal>[] {
  const put = (at: string): Route<Principal> =>
    route({
      mounts: everyMount,
      ...forOwners,
      method: 'PUT',
      path: at,
      versioned: true,
      scope: integrationScopes.either('update'),
      summary: 'Set the settings of models of an integration; others stay',
      body: PutBody,
      bodyLimits: documentBodyLimits,
      response: z.object({}),
      handle: (request) => merge(deps, request),
    });
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path,
      scope: integrationScopes.either('read'),
      summary: 'List the models of an integration',
      query: ListQuery,
      response: ModelList,
      handle: (request) => list(deps, request),
    }),
    put(path),
    // Some clients use this path.
    put('/integrations/:integrationId/integration-models'),
    route({
      mounts: everyMount,
      ...forOwners,
      method: 'DELETE',
      path,
      versioned: true,
      scope: integrationScopes.either('update'),
      summary: 'Delete the settings of models of an integration',
      query: DeleteQuery,
      body: DeleteBody,
      response: z.object({}),
      handle: (request) => forget(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const db = deps.database.readable;
  const row = await findReadable(db, request);
  const settings = readModels(row);
  const settingBySlug = new Map(settings.map((model) => [model.slug, model]));
  const catalogue = catalogueOf(row);
  const all = row.allow_all_models !== 0;
  const models = [
    ...catalogue.map((slug) => settingBySlug.get(slug) ?? { slug, enabled: all }),
    ...settings.filter(({ slug }) => !catalogue.includes(slug)),
  ];
  const { page_size = models.length, current_page } = request.query;
  const from = page_size * current_page;
  const list: z.infer<typeof ModelList> = {
    object: 'list',
    total: models.length,
    allow_all_models: all,
    models: models.slice(from, from + page_size).map((model) => toModel(row.id, model)),
  };
  return withVersionTag(list, row);
}

function toModel(integrationId: string, setting: ModelSetting): z.infer<typeof Model> {
  const { slug, configurations } = setting;
  return {
    slug,
    name: slug,
    enabled: setting.enabled,
    is_custom: Boolean(setting.is_custom),
    is_finetune: Boolean(setting.is_finetune),
    base_model_slug: setting.base_model_slug ?? null,
    configurations: configurations
      ? (maskSecrets(modelSecretLocations(integrationId, slug), configurations) as JsonRecord)
      : null,
    pricing_config: setting.pricing_config ?? null,
    pricing_adjustments: setting.pricing_adjustments ?? null,
  };
}

function catalogueOf({ ai_provider: service }: integrations.StoredIntegration): readonly string[] {
  return aiProviders.get(service)?.models ?? [];
}

async function merge(deps: AdminDeps, request: PutRequest): Promise<Record<string, never>> {
  const { models, allow_all_models: all } = request.body;
  const sent = models.map(plainSetting);
  rejectFaults(prefixFaults(['models'], modelsFaults(sent, deps.trustedHosts)));
  const sealer = await deps.keyring.sealerOf(request.caller.organisationId);
  await updateModels(deps, request, request.body, async (tx, row) => {
    const stored = readModels(row);
    const sealed = sealedModels(sealer, row.id, sent, stored);
    const bySlug = new Map([...stored, ...sealed].map((model) => [model.slug, model]));
    if (bySlug.size > modelsMax) {
      throw validationError({ path: ['models'], message: `would be more than ${modelsMax}` });
    }
    const merged = rewriteDocument(row.models, [...bySlug.values()]) ?? null;
    await requireMeantAddresses(tx, row, { ...row, models: merged }, { models: sent });
    return { models: merged, allow_all_models: all === undefined ? undefined : Number(all) };
  });
  return {};
}

/** `about` is the body or query that names the integration's workspace. */
async function updateModels(
  deps: AdminDeps,
  request: AdminRequest,
  about: Pick<UpdateFields, 'workspace_id'>,
  columns: ResourceUpdate<integrations.StoredIntegration>['columns'],
): Promise<void> {
  const updateRequest = { ...request, query: undefined, body: about };
  await updateResource(deps, updateRequest, integrationWriter, { columns });
}

/** Clients may also send headers outside the configurations. */
function plainSetting({
  custom_headers: headers,
  ...setting
}: PutRequest['body']['models'][number]): ModelSetting {
  if (headers === undefined) return setting;
  return { ...setting, configurations: { ...setting.configurations, custom_headers: headers } };
}

async function forget(
  deps: AdminDeps,
  request: AdminRequest<
    Record<string, string>,
    z.infer<typeof DeleteQuery>,
    z.infer<typeof DeleteBody>
  >,
): Promise<Record<string, never>> {
  const { query, body } = request;
  const slugs = [...(query.slugs ?? []), ...(body.models ?? [])];
  if (slugs.length === 0) throw validationError({ path: ['models'], message: 'is required' });
  const about = { workspace_id: query.workspace_id, models: slugs };
  await updateModels(deps, request, about, (_, row) => {
    const catalogue = catalogueOf(row);
    const fixed = slugs.filter((slug) => catalogue.includes(slug));
    if (fixed.length > 0) {
      const message = `are models of the catalogue, which can be disabled but not deleted: ${fixed.join(', ')}`;
      throw validationError({ path: ['models'], message });
    }
    const remaining = readModels(row).filter(({ slug }) => !slugs.includes(slug));
    return { models: rewriteDocument(row.models, remaining.length === 0 ? null : remaining) };
  });
  return {};
}
