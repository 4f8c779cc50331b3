/** Checks that the secrets of an integration are sent only to addresses that they are meant for. */
import { configurationSecretLocations } from '../../auth/integration-secrets.ts';
import { retainedSecretPaths } from '../../auth/secret-values.ts';
import { secretMask } from '../../model/mcp/mcp-integration.ts';
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import {
  type AddressedIntegration,
  addressesOf,
  findNewAddress,
  retainedSecretFault,
} from '../../model/providers/integration-addresses.ts';
import { readMappings } from '../../model/secrets/secret-mapping.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';
import { requireAllowedHosts } from '../access/secret-mappings.ts';
import { readIntegrationConfigurations, readModels } from './integration-record.ts';

type Row = Pick<
  StoredIntegration,
  'id' | 'organisation_id' | 'configurations' | 'models' | 'sealed_key' | 'secret_mappings'
>;

/** Secrets of a body; the mask and undefined keep the stored values. */
interface SentSecrets {
  readonly key?: string | null | undefined;
  readonly configurations?: IntegrationConfigurations | null | undefined;
}

/**
 * Refuses a new address that stored secrets would be sent to, or values of secret managers whose
 * references do not list it. An update that changes neither addresses nor mappings passes.
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
  if (before !== null) refuseRetainedSecrets(before, now, sent);
  const isUnchanged =
    before !== null &&
    before.secret_mappings === after.secret_mappings &&
    findNewAddress(addressedBy(before), now) === undefined;
  if (isUnchanged) return;
  const mappings = readMappings(after.secret_mappings);
  await requireAllowedHosts(tx, after.organisation_id, mappings, addressesOf(now));
}

function addressedBy(row: Row): AddressedIntegration {
  return { configurations: readIntegrationConfigurations(row), models: readModels(row) };
}

function refuseRetainedSecrets(before: Row, now: AddressedIntegration, sent: SentSecrets): void {
  const moved = findNewAddress(addressedBy(before), now);
  if (moved === undefined) return;
  const { key, configurations } = sent;
  const isKeyRetained = before.sealed_key !== null && (key === undefined || key === secretMask);
  const retained = retainedSecretPaths(
    configurationSecretLocations(before.id),
    readIntegrationConfigurations(before),
    configurations,
  ).map((path) => ['configurations', ...path]);
  const paths = isKeyRetained ? [['key'], ...retained] : retained;
  rejectFaults(paths.map((path) => retainedSecretFault(path, moved)));
}
