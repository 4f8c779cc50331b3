/** Lists the fields of integrations that secret references may fill. */
import type { MappingTargets } from '../secrets/secret-mapping.ts';
import { namesWithoutEffect } from '../wire/unknown-fields.ts';
import { configurationsOf } from './integration-configurations.ts';

/** @param service slug of the service of the integration */
export function integrationTargets(service: string): MappingTargets {
  const schema = configurationsOf(service);
  const names = [...Object.keys(schema.shape), ...(namesWithoutEffect(schema) ?? [])];
  const headerMaps = new Set(['custom_headers']);
  const fields = names.filter((name) => !headerMaps.has(name));
  return { fields: new Set(['key', ...fields]), headerMaps };
}
