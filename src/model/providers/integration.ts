/** Defines the bodies that create and update integrations, which are accounts at model providers. */
import { z } from 'zod';
import {
  GrantBudget,
  GrantUsageLimitsInput,
  WorkspaceRateLimits,
} from '../limits/workspace-limits.ts';
import { SecretMappings } from '../secrets/secret-mapping.ts';
import { effectiveAccountFields } from '../services/account-fields.ts';
import { Capabilities } from '../services/capabilities.ts';
import {
  foreignAccountFields,
  foreignPricedUnits,
  foreignPriceFields,
} from '../services/foreign-fields.ts';
import { described } from '../wire/described.ts';
import {
  freeText,
  LooseFlag,
  ResetUsage,
  ResourceName,
  Tags,
  WorkspaceReference,
} from '../wire/resource-fields.ts';
import { OptionalSlug, Slug, UpdatedSlug } from '../wire/slug.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';
import { DeclaredAccess, IntegrationAccess } from './integration-access.ts';

export const modelsMax = 1000;
const workspacesMax = 1000;

const HeaderMap = z.record(z.string(), z.string());

const connectionFields = {
  custom_host: described(
    z.string().max(2048).optional(),
    'Base URL of requests, instead of the default of the service.',
    { examples: ['https://models.example.com/v1'] },
  ),
  custom_headers: described(HeaderMap.optional(), 'Headers of every request; values are secrets.'),
};

const rawPathsMax = 100;

const integrationFields = {
  ...connectionFields,
  raw_paths: described(
    z
      .array(z.string().min(2).max(2048).regex(/^\//, 'must begin with a slash'))
      .max(rawPathsMax)
      .optional(),
    'Paths below /v1 that callers without limits, guardrails and model rules may use although the gateway does not know them; only for an integration of one workspace.',
    { examples: [['/workflows/run']] },
  ),
};

/** How the gateway connects to the service. integration-configurations.ts defines the fields of each service. */
export const IntegrationConfigurations = acceptWithoutEffect(z.looseObject(integrationFields), [
  ...effectiveAccountFields,
  ...Object.values(foreignAccountFields).flat(),
]);
export type IntegrationConfigurations = z.infer<typeof IntegrationConfigurations>;

/** Connection settings of one model, which override those of the integration. */
export const ModelConfigurations = z.looseObject({
  custom_host: described(
    z.string().max(2048).optional(),
    'Base URL of requests to this model, instead of that of the integration.',
  ),
  custom_headers: described(
    HeaderMap.optional(),
    'Headers of requests to this model, which override those of the integration; values are secrets.',
  ),
});

const pricePart = (description: string) =>
  described(
    z.looseObject({
      price: described(z.number().min(0).optional(), 'US cents for one token or unit.'),
    }),
    description,
  );
const price = (description: string) => pricePart(description).optional();

/** Prices of a model under this integration, instead of those of the price table. */
export const PricingConfig = acceptWithoutEffect(
  z.looseObject({
    type: described(z.string().min(1).max(64).optional(), 'Pricing scheme.', {
      examples: ['static'],
    }),
    pay_as_you_go: described(
      acceptWithoutEffect(
        z.looseObject({
          request_token: price('Price of an input token.'),
          response_token: price('Price of an output token.'),
          cache_read_input_token: price('Price of an input token read from a cache.'),
          cache_write_input_token: price('Price of an input token written to a cache.'),
          cache_write_1h_input_token: price('Price of an input token cached for an hour.'),
          cache_read_audio_input_token: price('Price of an audio token read from a cache.'),
          cache_read_image_input_token: price('Price of an image token read from a cache.'),
          request_audio_token: price('Price of an input token of audio.'),
          request_image_token: price('Price of an input token of an image.'),
          response_text_token: price('Price of an output token of text, beside other kinds.'),
          response_audio_token: price('Price of an output token of audio.'),
          response_image_token: price('Price of an output token of an image.'),
          reasoning_token: price('Price of an output token of reasoning.'),
          image: described(
            z.record(z.string(), z.record(z.string(), pricePart('Price of an image.'))).optional(),
            'Prices of images by quality and size, such as `high` and `1024x1024`.',
          ),
          additional_units: described(
            z
              .looseObject({
                web_search: price('Price of a web search.'),
                file_search: price('Price of a file search.'),
                code_interpreter: price('Price of a container in which code runs.'),
                search_unit: price('Price of a search unit of a ranking.'),
                character: price('Price of a character that is spoken.'),
                audio_second: price('Price of a second of transcribed audio.'),
              })
              .optional(),
            'Prices of units other than tokens.',
          ),
        }),
        foreignPricedUnits,
      ).optional(),
      'Prices of tokens and other units.',
    ),
    service_tiers: described(
      z.record(z.string(), z.number().min(0).max(1000)).optional(),
      'Factors on the prices of tokens by service tier, such as `priority`.',
    ),
  }),
  foreignPriceFields,
);
export type PricingConfig = z.infer<typeof PricingConfig>;

/** Kinds of tokens that can have a price of their own. */
const tokenKinds = [
  'request_token',
  'response_token',
  'cache_read_input_token',
  'cache_write_input_token',
  'cache_read_audio_input_token',
  'request_audio_token',
  'response_audio_token',
  'reasoning_token',
  'prediction_accepted_token',
  'prediction_rejected_token',
  'request_image_token',
  'response_image_token',
  'request_text_token',
  'response_text_token',
  'cache_read_image_input_token',
  'cache_read_text_input_token',
  'cache_write_text_input_token',
  'cache_write_image_input_token',
];

const factor = (of: string) =>
  described(z.number().min(0).max(1000).nullable().optional(), `Factor on the price of ${of}.`);

/** Factors on the list prices; the most specific one applies. */
export const PricingAdjustments = z.strictObject({
  multiplier: described(
    z
      .strictObject({
        default: factor('everything without a factor of its own'),
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

/** Settings of one model of an integration. */
export const ModelSetting = z.strictObject({
  slug: described(z.string().min(1).max(255), 'Name of the model in requests.', {
    examples: ['gpt-4o'],
  }),
  enabled: described(z.boolean(), 'Whether the model may be used.'),
  is_custom: described(LooseFlag.nullable().optional(), 'Whether the model is one of your own.'),
  is_finetune: described(
    LooseFlag.nullable().optional(),
    'Whether the model was fine-tuned from another model.',
  ),
  base_model_slug: described(
    z.string().min(1).max(255).nullable().optional(),
    'Model that it was fine-tuned from, whose price applies to it.',
  ),
  configurations: described(
    ModelConfigurations.nullable().optional(),
    'Connection settings for requests to this model.',
  ),
  pricing_config: described(PricingConfig.nullable().optional(), 'Prices of the model.'),
  pricing_adjustments: described(
    PricingAdjustments.nullable().optional(),
    'Factors on the list price of the model, instead of those of the integration.',
  ),
});
export type ModelSetting = z.infer<typeof ModelSetting>;

const budgetMeaning =
  'Budget of the workspace for this integration; defaults to that of global_workspace_access.';

/** Access of one workspace to an integration of the organisation. */
export const WorkspaceGrant = z.strictObject({
  id: described(z.string().min(1).max(255), 'Workspace by UUID or slug.'),
  enabled: described(z.boolean(), 'Whether the workspace may use the integration.'),
  usage_limits: described(GrantUsageLimitsInput.nullable().optional(), budgetMeaning),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limits of the workspace for this integration: a list of at most one; default to those of global_workspace_access.',
  ),
});
export type WorkspaceGrant = z.infer<typeof WorkspaceGrant>;

export const Models = z.array(ModelSetting).max(modelsMax);
export const WorkspaceGrants = z.array(WorkspaceGrant).max(workspacesMax);
const Key = z.string().min(1).max(65_536);

const accessMeaning =
  'Access and limits of the workspaces that are not listed; for an integration of the organisation.';
const grantsMeaning =
  'Access and limits of single workspaces; for an integration of the organisation.';

/** Fields shared by create and update. */
const fields = {
  description: described(freeText(5000).nullable().optional(), 'Purpose of the integration.'),
  key: described(
    Key.nullable().optional(),
    'API key of the account; a secret, which is never returned.',
  ),
  configurations: described(
    IntegrationConfigurations.nullable().optional(),
    'Further connection settings of the service: address, region, project, headers.',
  ),
  secret_mappings: described(
    SecretMappings.nullable().optional(),
    'Secret references that supply fields, such as the key.',
  ),
  pricing_adjustments: described(
    PricingAdjustments.nullable().optional(),
    'Factors on the list prices of its models.',
  ),
  tags: Tags,
  capabilities: described(
    Capabilities.nullable().optional(),
    'Where objects of callers, such as files and assistants, are stored.',
  ),
  allow_all_models: described(
    z.boolean().optional(),
    'Whether models that are not listed may be used.',
    { default: true },
  ),
  models: described(
    Models.optional(),
    'Settings of single models; allow_all_models applies to all others.',
  ),
  global_workspace_access: described(IntegrationAccess.nullable().optional(), accessMeaning),
  workspaces: described(WorkspaceGrants.optional(), grantsMeaning),
};

/** Body of POST /integrations; `ai_provider_id` is a slug or an id of model/services/ai-providers.ts. */
export const IntegrationCreate = z.object({
  name: ResourceName,
  ai_provider_id: described(z.string().min(1).max(64), 'Service of the account.', {
    examples: ['openai', 'anthropic'],
  }),
  slug: OptionalSlug,
  workspace_id: WorkspaceReference.optional(),
  ...fields,
});
export type IntegrationCreate = z.infer<typeof IntegrationCreate>;

/** Creates the schema of manifests, where a budget has the same form in all kinds. */
export function makeIntegrationSpec() {
  const DeclaredGrant = WorkspaceGrant.extend({
    usage_limits: described(GrantBudget.nullable().optional(), budgetMeaning),
  });
  return IntegrationCreate.strict().extend({
    global_workspace_access: described(DeclaredAccess.nullable().optional(), accessMeaning),
    workspaces: described(z.array(DeclaredGrant).max(workspacesMax).optional(), grantsMeaning),
  });
}

/** Body of PUT /integrations/{id}: an absent field is unchanged, null clears it, lists are replaced as a whole. */
export const IntegrationUpdate = z.object({
  name: ResourceName.optional(),
  slug: UpdatedSlug,
  ...fields,
});
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

/** Creates a provider in a workspace together with its access to the integration. */
export const DefaultProvider = z.object(defaultProvider);
export type DefaultProvider = z.infer<typeof DefaultProvider>;

/** Body of PUT /integrations/{id}/workspaces: merged by workspace. */
export const IntegrationWorkspacesPut = z.object({
  workspaces: z
    .array(
      WorkspaceGrant.extend({
        reset_usage: ResetUsage,
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
