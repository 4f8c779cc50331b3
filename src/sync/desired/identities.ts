/** Registers the identities that a source declares, and resolves references to them. */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { nearest } from '../../suggest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { type Identity, identityKey, type Position, placeText } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Declaration } from '../validation/declaration.ts';
import type { PendingReference } from '../validation/placeholders.ts';
import { bindingFault, type ReachFault, reachFault, targetFault } from './reference-rules.ts';

/** Functions that receive references without a target. */
export interface ReferenceReports {
  readonly report: (fault: SourceFault) => void;
  /** Receives references that may lead to something unreadable. */
  readonly reportUnread: (fault: SourceFault) => void;
}

/** The target of a reference. */
interface Referent {
  readonly key: string;
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
  /** The target of a declared Guardrail. */
  readonly target: unknown;
}

/** The identities of one source; reports duplicates and unresolved references. */
export class Identities {
  readonly #referents = new Map<string, Referent>();
  readonly #report: (fault: SourceFault) => void;
  readonly #reportUnread: (fault: SourceFault) => void;

  constructor({ report, reportUnread }: ReferenceReports) {
    this.#report = report;
    this.#reportUnread = reportUnread;
  }

  /** Null stands for the organisation, which always exists. */
  hasWorkspace(name: string | null): boolean {
    return name === null || this.#find('Workspace', null, name) !== undefined;
  }

  /** Returns whether the identity is free; reports a duplicate with both positions. */
  claim(identity: Identity, { place, absent, kind, spec }: Manifest): boolean {
    const key = identityKey(identity);
    const holder = this.#referents.get(key);
    if (holder === undefined) {
      const target = kind === 'Guardrail' ? (spec.target ?? 'llm') : undefined;
      this.#referents.set(key, { key, identity, place, absent, target });
      return true;
    }
    const message = `${key} is declared twice, first at ${placeText(nameOf(holder))}`;
    const fix = 'remove one of the two';
    this.#report(place.fault(['metadata', 'name'], 'duplicate', message, fix));
    return false;
  }

  /**
   * Resolves every reference of a resource.
   *
   * @param isComplete false when something could not be identified, so what seems missing may exist
   * @returns the targets without duplicates; unresolved references are reported
   */
  resolve(declaration: Declaration, isComplete: boolean): Identity[] {
    const found = new Set<Identity>();
    const ends = new Map<KindName, readonly [PendingReference, Referent]>();
    for (const reference of declaration.references) {
      const referent = this.#follow(reference, declaration, isComplete);
      if (referent === undefined) continue;
      if (reference.placeholder !== null) reference.placeholder.$ref = referent.key;
      found.add(referent.identity);
      ends.set(reference.kind, [reference, referent]);
      const { identity, place } = declaration;
      const wrong =
        reachFault(identity, referent) ?? targetFault(identity, reference.written, referent);
      if (wrong !== undefined) this.#refuseReach(place, reference, wrong);
    }
    if (declaration.identity.kind === 'GuardrailMcpBinding') this.#checkEnds(declaration, ends);
    return [...found];
  }

  #checkEnds(
    { place }: Declaration,
    ends: ReadonlyMap<KindName, readonly [PendingReference, Referent]>,
  ): void {
    const [reference, guardrail] = ends.get('Guardrail') ?? [];
    const [, server] = ends.get('McpServer') ?? [];
    if (reference === undefined || guardrail === undefined || server === undefined) return;
    const wrong = bindingFault(guardrail, server);
    if (wrong !== undefined) this.#refuseReach(place, reference, wrong);
  }

  #refuseReach(
    place: Manifest['place'],
    { written }: PendingReference,
    { message, fix }: ReachFault,
  ): void {
    this.#report(place.fault(written, 'out-of-reach', message, fix));
  }

  #follow(
    reference: PendingReference,
    { identity: from, place, absent }: Declaration,
    isComplete: boolean,
  ): Referent | undefined {
    const found = this.#referentOf(reference, from);
    if (found !== undefined && (!found.absent || absent)) return found;
    const { kind, text, written } = reference;
    if (found !== undefined) {
      const message = `${kind} "${text}" is declared absent at ${placeText(nameOf(found))}`;
      this.#report(place.fault(written, 'dangling-reference', message));
    } else if (isComplete) {
      const message = `${kind} "${text}" is not declared in this source`;
      const fix = this.#nearName(reference, from) ?? `declare it, or add an External for it`;
      this.#report(place.fault(written, 'dangling-reference', message, fix));
    } else {
      const message = `${kind} "${text}" is not declared in any readable file`;
      this.#reportUnread(place.fault(written, 'unread-reference', message));
    }
    return undefined;
  }

  /** Resolves a written name: first in the own workspace, then at organisation level. */
  #referentOf({ kind, text }: PendingReference, from: Identity): Referent | undefined {
    const slash = text.indexOf('/');
    if (kinds[kind].workspaced === 'none') return this.#find(kind, null, text);
    if (slash >= 0) return this.#find(kind, text.slice(0, slash), text.slice(slash + 1));
    return this.#find(kind, from.workspace, text) ?? this.#find(kind, null, text);
  }

  #find(kind: KindName, workspace: string | null, name: string): Referent | undefined {
    return this.#referents.get(identityKey({ kind, workspace, name }));
  }

  #nearName({ kind, text }: PendingReference, from: Identity): string | undefined {
    const names = [...this.#referents.values()]
      .filter(({ identity, absent }) => identity.kind === kind && !absent)
      .map(({ identity: { workspace, name } }) =>
        workspace === null || workspace === from.workspace ? name : `${workspace}/${name}`,
      );
    const bare = text.slice(text.indexOf('/') + 1);
    const elsewhere = names.find((name) => name === bare || name.endsWith(`/${bare}`));
    const near = nearest(text, names) ?? elsewhere;
    return near === undefined ? undefined : `did you mean "${near}"?`;
  }
}

function nameOf({ place }: Referent): Position {
  return place.at(['metadata', 'name']);
}
