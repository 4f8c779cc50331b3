/** Defines secret mappings, which fill fields of an integration with values of secret references. */
import { z } from 'zod';
import { nearest } from '../../suggest.ts';
import { headerNameFault } from '../services/forward-headers.ts';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { readDocument } from '../wire/json-record.ts';

const mappingsMax = 100;

const TargetField = z.string().min(1).max(255);

export const SecretMapping = z.strictObject({
  target_field: described(
    TargetField.clone(),
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

/** Mappings of an MCP integration, which fill headers and secrets of OAuth clients. */
export const McpSecretMappings = z
  .array(
    SecretMapping.extend({
      target_field: described(
        TargetField.clone(),
        'Header, or secret of the OAuth client, that receives the value.',
        {
          examples: ['configurations.custom_headers.Authorization'],
        },
      ),
    }),
  )
  .max(mappingsMax);

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

/** Returns the path of a mapped field: `key`, `custom_headers.X-Key`, or the name of a configuration. */
export function mappedPath(target: string): string[] {
  const [first = '', ...rest] = target.split('.');
  const path = first === 'configurations' && rest.length > 0 ? rest : [first, ...rest];
  // Header names may contain dots.
  return path.length > 2 ? [path[0]!, path.slice(1).join('.')] : path;
}

/** The fields of an integration that mappings may fill. */
export interface MappingTargets {
  /** `key`, and names of configurations. */
  readonly fields: ReadonlySet<string>;
  /** Configurations that are maps of headers; each of their headers is a field. */
  readonly headerMaps: ReadonlySet<string>;
}

/** Returns a fault for each field that does not exist or is mapped twice; paths start at the list. */
export function mappingFaults(
  mappings: readonly Pick<SecretMapping, 'target_field'>[],
  targets: MappingTargets,
): Fault[] {
  const seen = new Set<string>();
  return mappings.flatMap(({ target_field: target }, at) => {
    const path = mappedPath(target);
    const message = targetFault(path, targets) ?? repeatFault(path.join('.'), seen);
    return message === null ? [] : [{ path: [at, 'target_field'], message }];
  });
}

function targetFault(
  [name = '', header]: readonly string[],
  { fields, headerMaps }: MappingTargets,
): string | null {
  if (header === undefined && fields.has(name)) return null;
  if (headerMaps.has(name)) {
    if (header === undefined) return `needs the name of a header: configurations.${name}.NAME`;
    const fault = headerNameFault(header, 'set');
    return fault === null ? null : `names a header that ${fault}`;
  }
  const near = header === undefined ? nearest(name, [...fields, ...headerMaps]) : undefined;
  const fix =
    near === undefined
      ? 'see docs/reference/resources.md, Secret references'
      : `did you mean "${near === 'key' ? near : `configurations.${near}`}"?`;
  return `is not a field that a secret can fill; ${fix}`;
}

function repeatFault(field: string, seen: Set<string>): string | null {
  if (seen.has(field.toLowerCase())) return 'is mapped twice';
  seen.add(field.toLowerCase());
  return null;
}
