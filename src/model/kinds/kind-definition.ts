/** Defines how manifests of a kind are written, compared and addressed. `Name` are the names of all kinds. */
import type { z } from 'zod';
import type { KindAddress } from './kind-addresses.ts';

/** A field that refers to another resource: by name in a manifest, by id or slug on the wire. */
export interface ReferenceFieldOf<Name extends string> {
  /** Path in the canonical spec (see {@link KindOf}): `defaults.config_id`. */
  readonly path: string;
  /**
   * Key in a manifest. It replaces the last key of the path (`configRef`). Where the path ends in `*`, it
   * is the only key of an object in the list (`- guardrailRef: pii`). Empty if the reference comes from
   * `metadata.workspace`.
   */
  readonly manifestField: string;
  readonly kind: Name;
  readonly by: 'id' | 'slug';
  /** Text before the slug on the wire. */
  readonly prefix?: '@';
}

/**
 * How resources of a kind are written, compared and addressed. Paths are dotted, in wire spelling; `*` is
 * one key or item, `**` any number of them, including none.
 */
export interface KindOf<Name extends string> extends KindAddress {
  /** File name of an export: `api-keys`. */
  readonly plural: string;
  readonly workspaced: 'none' | 'required' | 'optional';
  /** Field of the create body with a credential that sync generates and delivers; absent for kinds without one. */
  readonly credential?: 'key' | 'client_secret';
  /** Whether there is at most one, named `default`. */
  readonly isSingleton?: true;
  /** The field that contains the display name, if it is not `name`. */
  readonly title?: string;
  readonly references: readonly ReferenceFieldOf<Name>[];
  /** Write-only values: set by `valueFrom`, compared by fingerprint, never printed. */
  readonly secrets: readonly string[];
  /** Top-level fields that the server changes only if the write-only values are sent as well. */
  readonly secretsGoWith: readonly string[];
  /** Subtrees copied as written, without conversion from camel case. */
  readonly opaque: readonly string[];
  /** Top-level fields that cannot be changed in place; a difference requires a replacement. */
  readonly immutable: readonly string[];
  /** Top-level objects that the API merges by key, so removed keys must be sent as null. */
  readonly merged: readonly string[];
  /** Lists whose order has no meaning. */
  readonly sets: readonly string[];
  /**
   * Creates the strict schema of the create body, which a converted spec must match. A custom issue may
   * carry `params.candidates`, the words for a did-you-mean hint.
   */
  readonly makeSpecSchema: () => Promise<z.ZodObject>;
}
