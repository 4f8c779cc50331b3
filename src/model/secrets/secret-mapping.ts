/** Defines secret mappings, which fill fields of an integration with values of secret references. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { readDocument } from '../wire/json-record.ts';

const mappingsMax = 100;

export const SecretMapping = z.strictObject({
  target_field: described(
    z.string().min(1).max(255),
    'Field that receives the value: key, or one of the configurations.',
    { examples: ['key', 'configurations.custom_headers.Authorization'] },
  ),
  secret_reference_id: described(
    z.string().min(1).max(255),
    'Secret reference on the server, by id or slug.',
  ),
  secret_key: described(
    z.string().max(255).nullable().optional(),
    'Field of the secret if it holds several; overrides that of the reference.',
  ),
  value_format: described(
    z.enum(['json', 'string']).nullable().optional(),
    'Whether the value is inserted as a string or parsed as JSON.',
    { default: 'string' },
  ),
});
export type SecretMapping = z.infer<typeof SecretMapping>;

export const SecretMappings = z.array(SecretMapping).max(mappingsMax);

/** A mapping with the resolved id of its reference, which responses do not show. */
export interface StoredSecretMapping extends SecretMapping {
  readonly reference_id: string;
}

/** Parses a document column. */
export function readMappings(text: string | null): StoredSecretMapping[] {
  return readDocument<StoredSecretMapping[]>(text) ?? [];
}

/** The mappings as they were sent. */
export function mappingsAsSent(text: string | null): SecretMapping[] {
  return readMappings(text).map(({ reference_id: _, ...mapping }) => mapping);
}

/** The mappings for the snapshot, which refers by id; null when nothing is stored. */
export function mappingsForSnapshot(text: string | null): Record<string, unknown>[] | null {
  if (text === null) return null;
  return readMappings(text).map(({ reference_id, ...mapping }) => {
    const fields = Object.entries(mapping).filter(([, value]) => value !== null);
    return { ...Object.fromEntries(fields), secret_reference_id: reference_id };
  });
}

/** Returns a fault for each field that is mapped more than once; paths start at the list. */
export function mappingFaults(mappings: readonly SecretMapping[]): Fault[] {
  const seen = new Set<string>();
  return mappings.flatMap(({ target_field: target }, at) => {
    if (!seen.has(target)) {
      seen.add(target);
      return [];
    }
    return [{ path: [at, 'target_field'], message: 'is mapped twice' }];
  });
}
