/** Collects the references and secrets of a spec, and replaces them by placeholders. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Secret } from '../../secret.ts';
import type { Spec, SpecJson } from '../resources/resource-set.ts';
import { pointerOf, putAt } from '../resources/spec-paths.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** A reference as written, not yet resolved. */
export interface PendingReference {
  readonly kind: KindName;
  /** `name` or `workspace/name`. */
  readonly text: string;
  /** Path in the manifest. */
  readonly written: Segments;
  /**
   * The placeholder in the spec, completed when the reference is resolved; null when there is none.
   */
  readonly placeholder: { $ref: string } | null;
}

/** Replaces an unknown id during schema validation. */
export const idStandIn = '00000000-0000-4000-8000-000000000000';
/** Replaces an unavailable secret during schema validation. */
export const secretStandIn = 'secret';

/** Path of the workspace reference in every manifest. */
export const workspacePlace: Segments = ['metadata', 'workspace'];

/** Collects the references and secrets of one spec while stand-ins are in their places. */
export class Placeholders {
  readonly secrets = new Map<string, Secret>();
  readonly references: PendingReference[] = [];
  readonly #values: { path: Segments; value: { [key: string]: SpecJson } }[] = [];

  /**
   * @param path of the secret in the API body
   * @param isUnset its value is not set here, so the server's value stays
   */
  addSecret(path: Segments, secret: Secret, isUnset: boolean): void {
    if (!isUnset) this.secrets.set(pointerOf(path), secret);
    this.#values.push({ path, value: { $secret: secret.origin, fingerprint: '' } });
  }

  /**
   * @param path of the reference in the API body
   * @param written its path in the manifest
   */
  addReference(kind: KindName, text: string, path: Segments, written: Segments): void {
    const placeholder = { $ref: '' };
    this.#values.push({ path, value: placeholder });
    this.references.push({ kind, text, written, placeholder });
  }

  /** Replaces the stand-ins of a spec that passed its schema. */
  putInto(spec: Spec): void {
    for (const { path, value } of this.#values) putAt(spec, path, value);
  }
}
