/** Knows the bodies by which integrations (accounts at providers of models) are made and changed. */
import { z } from 'zod';
import { Capabilities } from '../services/capabilities.ts';
import { described } from '../wire/described.ts';
import { IntegrationAccess } from './integration-access.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { SecretMappings } from '../secrets/secret-mapping.ts';
import { Slug } from '../wire/slug.ts';
import { GrantUsageLimits, WorkspaceRateLimits } from '../limits/workspace-limits.ts';

export const modelsMax = 1000;
const workspacesMax = 1000;

const HeaderMap = z.record(z.string(), z.string());

const reach = {
  custom_host: described(
    z.string().max(2048).optional(),
    'Address that requests go to in place of the usual one of the service.',
    { examples: ['https://models.example.com/v1'] },
  ),
  custom_headers: described(HeaderMap.optional(), 'Headers of every request; values are secrets.'),
};

/** How the gateway reaches the service: what is known of it is judged by integration-faults.ts, all else passes. */
export const IntegrationConfigurations = z.looseObject(reach);
export type IntegrationConfigurations = z.infer<typeof IntegrationConfigurations>;

/** Of one model: takes the place of what the integration says. */
const ModelConfigurations = z.looseObject({
  custom_host: described(
    z.string().max(2048).optional(),
    'Address for requests to this model, in place of that of the integration.',
  ),
  custom_headers: described(
    HeaderMap.optional(),
    'Headers of requests to this model, over those of the integration; values are secrets.',
  ),
});

const price = (description: string) =>
  described(
    z.looseObject({
      price: described(z.number().min(0).optional(), 'US cents for one token or unit.'),
    }),
    description,
  ).optional();

/** What a model costs here, in place of the price table. */
export const PricingConfig = z.looseObject({
  type: described(z.string().min(1).max(64).optional(), 'How it is priced.', {
    examples: ['static'],
  }),
  pay_as_you_go: described(
    z
      .looseObject({
        request_token: price('Of a token of the request.'),
        response_token: price('Of a token of the answer.'),
        cache_read_input_token: price('Of a token of the request that was read from a cache.'),
        cache_write_input_token: price('Of a token of the request that was written to a cache.'),
      })
      .optional(),
    'Price of each token.',
  ),
});
export type PricingConfig = z.infer<typeof PricingConfig>;

/** Kinds of tokens that have prices of their own. */
const tokenKinds = [
  ...['request_token', 'response_token', 'cache_read_input_token', 'cache_write_input_token'],
  ...['cache_read_audio_input_token', 'request_audio_token', 'response_audio_token'],
  ...['reasoning_token', 'prediction_accepted_token', 'prediction_rejected_token'],
  ...['request_image_token', 'response_image_token', 'request_text_token', 'response_text_token'],
  ...['cache_read_image_input_token', 'cache_read_text_input_token'],
  ...['cache_write_text_input_token', 'cache_write_image_input_token'],
];

const factor = (of: string) =>
  described(z.number().min(0).max(1000).nullable().optional(), `Factor on the price of ${of}.`);

/** By what usual prices are multiplied; the most special one counts. */
export const PricingAdjustments = z.strictObject({
  multiplier: described(
    z
      .strictObject({
        default: factor('whatever is not named'),
        ...Object.fromEntries(
          tokenKinds.map((kind) => [kind, factor(`a ${kind.replaceAll('_', ' ')}`)]),
        ),
        image: described(
          z
            .strictObject({ default: factor('an image') })
            .nullable()
            .optional(),
          'Factors on the prices of images.',
        ),
        additional_units: described(
          z.record(z.string(), z.number().min(0).max(1000).nullable()).nullable().optional(),
          'Factors on the prices of other units, such as searches, by name.',
        ),
      })
      .optional(),
    'Factors by kind of token.',
  ),
});
export type PricingAdjustments = z.infer<typeof PricingAdjustments>;

/** What is said of one model of an integration. */
export const ModelSetting = z.strictObject({
  slug: described(z.string().min(1).max(255), 'Name of the model, as callers write it.', {
    examples: ['gpt-4o'],
  }),
  enabled: described(z.boolean(), 'Whether it may be used.'),
  is_custom: described(
    z
      .union([z.boolean(), z.literal([0, 1])])
      .nullable()
      .optional(),
    'Whether it is a model of your own.',
  ),
  is_finetune: described(
    z
      .union([z.boolean(), z.literal([0, 1])])
      .nullable()
      .optional(),
    'Whether it was made of another model by training.',
  ),
  base_model_slug: described(
    z.string().min(1).max(255).nullable().optional(),
    'Model that it was made of, whose price counts for it.',
  ),
  configurations: described(
    ModelConfigurations.nullable().optional(),
    'How requests to this model are sent.',
  ),
  pricing_config: described(PricingConfig.nullable().optional(), 'What the model costs.'),
  pricing_adjustments: described(
    PricingAdjustments.nullable().optional(),
    'Factors on the known price of the model, in place of those of the integration.',
  ),
});
export type ModelSetting = z.infer<typeof ModelSetting>;

/** Access of one workspace to an integration of the organisation. */
export const WorkspaceGrant = z.strictObject({
  id: described(z.string().min(1).max(255), 'Workspace by UUID or slug.'),
  enabled: described(z.boolean(), 'Whether it may use the integration.'),
  usage_limits: described(
    GrantUsageLimits.nullable().optional(),
    'Budget of the workspace for this integration: a list of at most one; without one, that of global_workspace_access.',
  ),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limits of the workspace for this integration: a list of at most one; without one, those of global_workspace_access.',
  ),
});
export type WorkspaceGrant = z.infer<typeof WorkspaceGrant>;

export const Models = z.array(ModelSetting).max(modelsMax);
export const Grants = z.array(WorkspaceGrant).max(workspacesMax);
const Key = z.string().min(1).max(65_536);
const Tags = z.record(z.string().min(1).max(255), z.string().max(1024));

/** Fields that a create and an update share. */
const fields = {
  description: described(freeText(5000).nullable().optional(), 'What the integration is for.'),
  key: described(
    Key.nullable().optional(),
    'API key of the account; a secret, which no answer shows.',
  ),
  configurations: described(
    IntegrationConfigurations.nullable().optional(),
    'Whatever else the service wants to know: address, region, project, headers.',
  ),
  secret_mappings: described(
    SecretMappings.nullable().optional(),
    'Secrets that the server holds, and the fields that they go into.',
  ),
  pricing_adjustments: described(
    PricingAdjustments.nullable().optional(),
    'Factors on the prices of its models.',
  ),
  tags: described(Tags.nullable().optional(), 'Texts by name, for your own use.'),
  capabilities: described(Capabilities.nullable().optional(), 'Who keeps what callers make there.'),
  allow_all_models: described(
    z.boolean().optional(),
    'Whether models may be used of which nothing is said.',
    { default: true },
  ),
  models: described(
    Models.optional(),
    'What is said of single models; those not named are as allow_all_models says.',
  ),
  global_workspace_access: described(
    IntegrationAccess.nullable().optional(),
    'Of an integration of the organisation: who may use it beside the workspaces named, and how much.',
  ),
  workspaces: described(
    Grants.optional(),
    'Of an integration of the organisation: what single workspaces may do with it.',
  ),
};

/** Body of POST /integrations; `ai_provider_id` is a slug or an id of model/ai-providers.ts. */
export const IntegrationCreate = z.object({
  name: ResourceName,
  ai_provider_id: described(z.string().min(1).max(64), 'Service that the account is at.', {
    examples: ['openai', 'anthropic'],
  }),
  slug: described(Slug.optional(), 'Short name in addresses; made from the name when left out.'),
  workspace_id: WorkspaceReference.optional(),
  ...fields,
});
export type IntegrationCreate = z.infer<typeof IntegrationCreate>;

/** Body of PUT /integrations/{id}; absent fields stay, null clears, lists are replaced whole. */
export const IntegrationUpdate = z.object({ name: ResourceName.optional(), ...fields });
export type IntegrationUpdate = z.infer<typeof IntegrationUpdate>;

/** Body of PUT /integrations/{id}/models: merged by slug. */
export const IntegrationModelsPut = z.object({
  models: z.array(ModelSetting.extend({ custom_headers: HeaderMap.optional() })).max(modelsMax),
  allow_all_models: z.boolean().optional(),
});
export type IntegrationModelsPut = z.infer<typeof IntegrationModelsPut>;

const defaultProvider = {
  create_default_provider: z.boolean().optional(),
  default_provider_slug: Slug.optional(),
};

/** How the first provider of a workspace comes with its access to an integration. */
export const DefaultProvider = z.object(defaultProvider);
export type DefaultProvider = z.infer<typeof DefaultProvider>;

/** Body of PUT /integrations/{id}/workspaces: merged by workspace. */
export const IntegrationWorkspacesPut = z.object({
  workspaces: z
    .array(
      WorkspaceGrant.extend({
        reset_usage: z
          .union([z.boolean(), z.literal([0, 1])])
          .nullable()
          .optional(),
        ...defaultProvider,
      }),
    )
    .max(workspacesMax)
    .optional(),
  global_workspace_access: IntegrationAccess.optional(),
  override_existing_workspace_access: z.boolean().optional(),
  ...defaultProvider,
});
export type IntegrationWorkspacesPut = z.infer<typeof IntegrationWorkspacesPut>;
