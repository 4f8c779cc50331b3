/** Converts the sent values of an integration to columns and seals their secrets. */
import {
  configurationSecretLocations,
  keyContext,
  modelSecretLocations,
} from '../../auth/integration-secrets.ts';
import type { Sealer } from '../../auth/keyring.ts';
import { sealSecrets } from '../../auth/secret-values.ts';
import { maskApiKey } from '../../model/people/credentials.ts';
import type { IntegrationConfigurations, ModelSetting } from '../../model/providers/integration.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { type Fault, prefixFaults } from '../../model/wire/fault.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { StoredIntegration } from '../../store/resources/integrations.ts';

type KeyColumns = Pick<StoredIntegration, 'sealed_key' | 'key_mask'>;

/** Shorter values are masked completely, because a partial mask would reveal most of them. */
const maskedLengthMin = 16;

/** Undefined and the mask keep the stored value, null clears it. */
export function keyColumns(
  sealer: Sealer,
  integrationId: string,
  sent: string | null | undefined,
  { sealed_key: before, key_mask }: KeyColumns,
): KeyColumns {
  const stored = { sealed_key: before, key_mask };
  if (sent === undefined || sent === secretMask) return stored;
  if (sent === null) return { sealed_key: null, key_mask: null };
  const context = keyContext(integrationId);
  if (before !== null && sealer.unseal(before, context) === sent) return stored;
  return { sealed_key: sealer.seal(sent, context), key_mask: maskOf(sent) };
}

function maskOf(key: string): string {
  const isPlain = key.length >= maskedLengthMin && /^[\x21-\x7e]+$/.test(key);
  return isPlain ? maskApiKey(key) : secretMask;
}

/** Undefined (keep) and null (clear) are returned unchanged. */
export function sealedConfigurations(
  sealer: Sealer,
  integrationId: string,
  sent: IntegrationConfigurations | null | undefined,
  stored: IntegrationConfigurations | null,
): IntegrationConfigurations | null | undefined {
  if (sent === undefined || sent === null) return sent;
  const sealing = sealSecrets(sealer, configurationSecretLocations(integrationId), sent, stored);
  rejectFaults(prefixFaults(['configurations'], sealing.faults));
  return sealing.document;
}

/** The settings to store; a mask stands for the stored value of the same model. */
export function sealedModels(
  sealer: Sealer,
  integrationId: string,
  sent: readonly ModelSetting[],
  stored: readonly ModelSetting[],
): ModelSetting[] {
  const storedBySlug = new Map(stored.map((model) => [model.slug, model]));
  const faults: Fault[] = [];
  const sealed = sent.map((model, at): ModelSetting => {
    const { configurations } = model;
    if (configurations === undefined || configurations === null) return model;
    const before = storedBySlug.get(model.slug)?.configurations ?? null;
    const places = modelSecretLocations(integrationId, model.slug);
    const sealing = sealSecrets(sealer, places, configurations, before);
    faults.push(...prefixFaults(['models', at, 'configurations'], sealing.faults));
    return { ...model, configurations: sealing.document };
  });
  rejectFaults(faults);
  return sealed;
}
