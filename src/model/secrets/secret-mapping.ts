/** Knows how a field of an integration is filled with a value that a secret reference leads to. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { readDocument } from '../wire/json-record.ts';

const mappingsMax = 100;

export const SecretMapping = z.strictObject({
  target_field: described(
    z.string().min(1).max(255),
    'Field that the value is put into: key, or one of the configurations.',
    { examples: ['key', 'configurations.custom_headers.Authorization'] },
  ),
  secret_reference_id: described(
    z.string().min(1).max(255),
    'Secret reference on the server, by id or slug.',
  ),
  secret_key: described(
    z.string().max(255).nullable().optional(),
    'Field of the secret, where it holds several; counts before that of the reference.',
  ),
  value_format: described(
    z.enum(['json', 'string']).nullable().optional(),
    'Whether the value is put there as it is, or as what it says as JSON.',
    { default: 'string' },
  ),
});
export type SecretMapping = z.infer<typeof SecretMapping>;

export const SecretMappings = z.array(SecretMapping).max(mappingsMax);

/** With the id of what is named by id or slug, which no answer shows. */
export interface StoredSecretMapping extends SecretMapping {
  readonly reference_id: string;
}

/** Of a document column. */
export function readMappings(text: string | null): StoredSecretMapping[] {
  return readDocument<StoredSecretMapping[]>(text) ?? [];
}

/** As they were sent. */
export function toldMappings(text: string | null): SecretMapping[] {
  return readMappings(text).map(({ reference_id: _, ...sent }) => sent);
}

/** For the snapshot, which names by id; null where nothing is stored. */
export function specMappings(text: string | null): Record<string, unknown>[] | null {
  if (text === null) return null;
  return readMappings(text).map(({ reference_id, ...sent }) => {
    const fields = Object.entries(sent).filter(([, value]) => value !== null);
    return { ...Object.fromEntries(fields), secret_reference_id: reference_id };
  });
}

/** A field that is to be filled twice; paths start at the list. */
export function mappingFaults(mappings: readonly SecretMapping[]): Fault[] {
  const seen = new Set<string>();
  return mappings.flatMap(({ target_field: target }, at) => {
    if (!seen.has(target)) {
      seen.add(target);
      return [];
    }
    return [{ path: [at, 'target_field'], message: 'is named twice' }];
  });
}
