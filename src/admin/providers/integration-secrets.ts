/** Checks that the secrets of an integration are sent only to addresses that they are meant for. */
import {
  configurationSecretLocations,
  modelSecretLocations,
} from '../../auth/integration-secrets.ts';
import { retainedSecretPaths } from '../../auth/secret-values.ts';
import type { IntegrationConfigurations, ModelSetting } from '../../model/providers/integration.ts';
import {
  type AddressedIntegration,
  addressesOf,
  destinationsOf,
} from '../../model/providers/integration-destinations.ts';
import {
  findNewDestination,
  retainedSecretFault,
} from '../../model/secrets/secret-destinations.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import { requireAllowedHosts } from '../access/secret-mappings.ts';
import { readIntegrationConfigurations, readModels } from './integration-record.ts';

type Row = Pick<
  StoredIntegration,
  | 'id'
  | 'organisation_id'
  | 'ai_provider'
  | 'configurations'
  | 'models'
  | 'sealed_key'
  | 'secret_mappings'
>;

/** Secrets of a body; the mask and undefined keep the stored values. */
interface SentSecrets {
  readonly key?: string | null | undefined;
  readonly configurations?: IntegrationConfigurations | null | undefined;
  /** Stored models that are not among them stay or go; those that stay keep their headers. */
  readonly models?: readonly ModelSetting[] | null | undefined;
}

/**
 * Refuses a new destination that stored secrets would be sent to, or values of secret managers whose
 * references do not list it. An update that changes neither destinations nor mappings passes.
 *
 * @throws ApiError `invalid`
 */
export async function requireMeantAddresses(
  tx: Db,
  before: Row | null,
  after: Row,
  sent: SentSecrets,
): Promise<void> {
  const now = addressedBy(after);
  if (before !== null) {
    const moved = findNewDestination(destinationsOf(addressedBy(before)), destinationsOf(now));
    if (moved !== undefined) {
      const retained = retainedPaths(before, now, sent);
      rejectFaults(retained.map((path) => retainedSecretFault(path, moved)));
    } else if (before.secret_mappings === after.secret_mappings) return;
  }
  await requireAllowedHosts(tx, after.organisation_id, now.mappings, addressesOf(now));
}

function addressedBy(row: Row): AddressedIntegration {
  return {
    service: row.ai_provider,
    configurations: readIntegrationConfigurations(row),
    models: readModels(row),
    mappings: readMappings(row.secret_mappings),
  };
}

/** Paths of the stored secrets that an update keeps. */
function retainedPaths(
  before: Row,
  { models }: AddressedIntegration,
  sent: SentSecrets,
): (string | number)[][] {
  const isKeyRetained =
    before.sealed_key !== null && (sent.key === undefined || sent.key === secretMask);
  const configurations = retainedSecretPaths(
    configurationSecretLocations(before.id),
    readIntegrationConfigurations(before),
    sent.configurations,
  );
  const storedModels = new Map(readModels(before).map((model) => [model.slug, model]));
  const headers = models.flatMap(({ slug }, at) =>
    retainedSecretPaths(
      modelSecretLocations(before.id, slug),
      storedModels.get(slug)?.configurations ?? null,
      sentConfigurations(sent.models, slug),
    ).map((path) => ['models', at, 'configurations', ...path]),
  );
  return [
    ...(isKeyRetained ? [['key']] : []),
    ...configurations.map((path) => ['configurations', ...path]),
    ...headers,
  ];
}

/** Undefined for a model that is not sent. */
function sentConfigurations(sent: SentSecrets['models'], slug: string) {
  const model = sent?.find((one) => one.slug === slug);
  return model === undefined ? undefined : (model.configurations ?? null);
}
