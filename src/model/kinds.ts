/** Knows every manifest kind: its schema, the fields that refer to others, and how its API is addressed. */

import type { z } from 'zod';

export const kindNames = [
  'Workspace',
  'Guardrail',
  'Config',
  'ApiKey',
  'McpIntegration',
  'McpServer',
  'GuardrailMcpBinding',
  'UsageLimitPolicy',
] as const;

export type KindName = (typeof kindNames)[number];

/** A field that names another resource: in a manifest by name, on the wire by id or slug. */
export interface ReferenceField {
  /** Path in the canonical spec; `*` matches every item of a list: `defaults.config_id`. */
  readonly path: string;
  /** Last key as written in a manifest, in place of the path's last key: `configRef`. */
  readonly manifestField: string;
  readonly kind: KindName;
  readonly by: 'id' | 'slug';
}

/** How one kind is written, compared and addressed. Paths are dotted, in wire spelling; `*` is any key or item. */
export interface Kind {
  readonly name: KindName;
  readonly workspaced: 'none' | 'required' | 'optional';
  /** The create body of the Admin API, strict; what a manifest's spec must parse to once converted. */
  readonly body: z.ZodObject;
  readonly references: readonly ReferenceField[];
  /** Write-only values: given by `valueFrom`, compared by fingerprint, never printed. */
  readonly secrets: readonly string[];
  /** Subtrees copied as written, without camelCase conversion. */
  readonly opaque: readonly string[];
  /** Top-level fields that cannot be changed in place: a difference means replace. */
  readonly immutable: readonly string[];
  /** Top-level objects that the API merges by key: cleared keys must be sent as null. */
  readonly merged: readonly string[];
  /** Lists whose order means nothing. */
  readonly sets: readonly string[];
  /** Requests that act on it; `body` is the resolved wire spec, `id` the resource's id. */
  readonly create: (body: Record<string, unknown>) => { method: 'POST' | 'PUT'; path: string };
  readonly item: (id: string, body: Record<string, unknown>) => string;
  /** Body fields that live in the path only and are not sent. */
  readonly pathFields: readonly string[];
}
