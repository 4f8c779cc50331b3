/** Finds guardrails that resources name by slug or id and that will not exist after a plan. */
import { guardrailNames, guardrailTargetAt } from '../../model/kinds/guardrail-names.ts';
import { nearest } from '../../suggest.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
} from '../resources/resource-set.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import type { BlockedItem } from './plan-model.ts';

interface KnownGuardrail {
  readonly identity: Identity;
  readonly target: unknown;
}

/** The slugs and ids of the guardrails that exist after a plan; those of new ones are not known yet. */
export class KnownGuardrails {
  readonly #byName = new Map<string, KnownGuardrail>();
  /** Names of manifests, for those who write them in place of a reference. */
  readonly #declared = new Map<string, Identity>();

  readonly #isRead: boolean;

  /**
   * @param live under the identities that the manifests give them
   * @param isRead false when the server has switched guardrails off, and does not list them
   */
  constructor(desired: readonly DesiredResource[], live: readonly LiveResource[], isRead: boolean) {
    this.#isRead = isRead;
    const absent = new Set<string>();
    for (const { identity, absent: isAbsent } of desired) {
      if (identity.kind !== 'Guardrail') continue;
      if (isAbsent) absent.add(identityKey(identity));
      else this.#declared.set(identity.name, identity);
    }
    for (const { identity, id, slug, spec } of live) {
      if (identity.kind !== 'Guardrail' || absent.has(identityKey(identity))) continue;
      const known = { identity, target: spec.target ?? 'llm' };
      for (const name of [id, slug]) if (name !== null) this.#byName.set(name, known);
    }
  }

  /** Returns why a resource cannot be written; null when every guardrail that it names is known. */
  unknownIn({ identity, spec, absent, positionOf }: DesiredResource): BlockedItem | null {
    if (absent || !this.#isRead) return null;
    for (const { path, name } of guardrailNames(identity.kind, spec)) {
      const fault = this.#faultOf(identity, path, name);
      if (fault === null) continue;
      return {
        id: identityKey(identity),
        identity,
        position: positionOf(pointerOf(path)),
        reason: 'unknown-guardrail',
        message: `it names the guardrail "${name}", ${fault}`,
      };
    }
    return null;
  }

  /** Adds the guardrails that a resource names to its references, so that they are not deleted. */
  withNamed(desired: DesiredResource): DesiredResource {
    if (desired.absent) return desired;
    const named = guardrailNames(desired.identity.kind, desired.spec).flatMap(
      ({ name }) => this.#find(name)?.identity ?? [],
    );
    if (named.length === 0) return desired;
    const all = [...desired.references, ...named].map((one) => [identityKey(one), one] as const);
    return { ...desired, references: [...new Map(all).values()] };
  }

  #faultOf(from: Identity, path: readonly string[], name: string): string | null {
    const known = this.#find(name);
    if (known === undefined || !isReachable(from, known.identity)) {
      const owner =
        from.workspace === null
          ? 'which the organisation does not have'
          : `which the workspace ${from.workspace} and the organisation do not have`;
      return `${owner}; ${this.#fixFor(name)}`;
    }
    const wanted = guardrailTargetAt(from.kind, path);
    if (known.target === wanted) return null;
    return `which has the target ${String(known.target)}; name one with target: ${wanted}`;
  }

  #find(name: string): KnownGuardrail | undefined {
    // UUIDs ignore case, slugs do not.
    return this.#byName.get(name) ?? this.#byName.get(name.toLowerCase());
  }

  #fixFor(name: string): string {
    if (this.#declared.has(name))
      return `write guardrailRef: ${name} for the manifest of this name`;
    const near = nearest(name, this.#byName.keys());
    return near === undefined
      ? 'declare a Guardrail and refer to it by guardrailRef'
      : `did you mean "${near}"?`;
  }
}

/** A binding may name a guardrail of the server's workspace, which its own rule checks. */
function isReachable({ kind, workspace }: Identity, guardrail: Identity): boolean {
  const isOfBinding = kind === 'GuardrailMcpBinding';
  return isOfBinding || guardrail.workspace === null || guardrail.workspace === workspace;
}
