/** Knows every identity that a source declares, and which of them a reference means. */
import { kinds } from '../../model/kinds.ts';
import { nearest } from '../../suggest.ts';
import type { SourceFault } from '../source/source-files.ts';
import { type Identity, identityKey, type Position } from '../spec/resource-set.ts';
import type { Manifest } from './manifest.ts';
import type { PendingReference } from './placeholders.ts';

/** What a reference may lead to. */
export interface Referent {
  readonly key: string;
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
}

/** The identities of one source; reports those that stand twice and references that lead nowhere. */
export class Identities {
  readonly #referents = new Map<string, Referent>();
  readonly #report: (fault: SourceFault) => void;

  constructor(report: (fault: SourceFault) => void) {
    this.#report = report;
  }

  /** Whether the identity is free; a second one is reported at both places. */
  claim(identity: Identity, { place, absent }: Manifest): boolean {
    const key = identityKey(identity);
    const holder = this.#referents.get(key);
    if (holder === undefined) {
      this.#referents.set(key, { key, identity, place, absent });
      return true;
    }
    const message = `${key} is declared twice, first at ${placeText(nameOf(holder))}`;
    const fix = 'remove one of the two';
    this.#report(place.fault(['metadata', 'name'], 'duplicate', message, fix));
    return false;
  }

  /**
   * What a reference of a manifest leads to; undefined when it leads nowhere, which is reported.
   *
   * @param isComplete false: something could not be identified, so what seems missing may be there
   */
  resolve(
    reference: PendingReference,
    from: Identity,
    manifest: Manifest,
    isComplete: boolean,
  ): Referent | undefined {
    const found = meanings(reference, from)
      .map((identity) => this.#referents.get(identityKey(identity)))
      .find((referent) => referent !== undefined);
    if (found !== undefined && (!found.absent || manifest.absent)) return found;
    const { kind, text, written } = reference;
    if (found !== undefined) {
      const message = `${kind} "${text}" is declared absent at ${placeText(nameOf(found))}`;
      this.#report(manifest.place.fault(written, 'dangling-reference', message));
    } else if (isComplete) {
      const message = `${kind} "${text}" is not declared in this source`;
      const fix = this.#nearName(reference, from) ?? `declare it, or add an External for it`;
      this.#report(manifest.place.fault(written, 'dangling-reference', message, fix));
    }
    return undefined;
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

/** What a written name can mean, best first: in its own workspace, then at organisation level. */
function meanings({ kind, text }: PendingReference, from: Identity): Identity[] {
  if (kinds[kind].workspaced === 'none') return [{ kind, workspace: null, name: text }];
  const [first = '', second] = text.split('/');
  if (second !== undefined) return [{ kind, workspace: first, name: second }];
  const own = { kind, workspace: from.workspace, name: first };
  return from.workspace === null ? [own] : [own, { ...own, workspace: null }];
}

function nameOf({ place }: Referent): Position {
  return place.at(['metadata', 'name']);
}

/** `gateway/keys.yaml:12:3` */
export function placeText({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}
