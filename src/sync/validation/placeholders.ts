/** Knows what stands in a spec for values that it must not hold: references not yet resolved, and secrets. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Secret } from '../../secret.ts';
import type { Spec, SpecJson } from '../resources/resource-set.ts';
import { pointerOf, putAt } from '../resources/spec-paths.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** A reference as written, not yet known to lead anywhere. */
export interface PendingReference {
  readonly kind: KindName;
  /** `name` or `workspace/name`. */
  readonly text: string;
  /** Where it stands in the manifest. */
  readonly written: Segments;
  /** What stands for it in the spec, to be completed once it is resolved; null when nothing does. */
  readonly placeholder: { $ref: string } | null;
}

/** Stands for an id that is not known yet while the schema is asked. */
export const idStandIn = '00000000-0000-4000-8000-000000000000';
/** Stands for a secret that is not at hand while the schema is asked. */
export const secretStandIn = 'secret';

/** Where the reference to its workspace stands in every manifest. */
export const workspacePlace: Segments = ['metadata', 'workspace'];

/** Collects the references and secrets of one spec while stand-ins hold their places. */
export class Placeholders {
  readonly secrets = new Map<string, Secret>();
  readonly references: PendingReference[] = [];
  readonly #values: { path: Segments; value: { [key: string]: SpecJson } }[] = [];

  /**
   * @param path keys that lead through the API's body to the secret
   * @param isKept its value is not given: the server's own stays
   */
  addSecret(path: Segments, secret: Secret, isKept: boolean): void {
    if (!isKept) this.secrets.set(pointerOf(path), secret);
    this.#values.push({ path, value: { $secret: secret.origin, fingerprint: '' } });
  }

  /**
   * @param path keys that lead through the API's body to the reference
   * @param written keys that lead to it through the manifest
   */
  addReference(kind: KindName, text: string, path: Segments, written: Segments): void {
    const placeholder = { $ref: '' };
    this.#values.push({ path, value: placeholder });
    this.references.push({ kind, text, written, placeholder });
  }

  /** Replaces the stand-ins of a spec that the schema has agreed to. */
  putInto(spec: Spec): void {
    for (const { path, value } of this.#values) putAt(spec, path, value);
  }
}
