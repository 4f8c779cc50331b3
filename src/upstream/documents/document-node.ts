/** Reads a JSON document member by member, so that nothing untranslated is overlooked. */
import { isDeepStrictEqual } from 'node:util';
import { isHintOfKind, type MemberRules, type ObjectShape } from './member-rules.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Decides about members of a request that the format of the provider does not have. */
export interface UnsupportedTerms {
  /** Setting of the config; null leaves hints out and refuses everything else. */
  readonly unsupported: 'drop' | 'refuse' | null;
  /** Receives the paths of members that are left out, without the indexes of lists. */
  readonly dropped: string[];
}

/** Bounds of what is recorded about one request. */
const droppedPathsMax = 20;
const pathCharsMax = 200;

/** Records a path once, without the indexes of lists. */
function recordDropped(terms: UnsupportedTerms | null, place: string): void {
  if (terms === null || terms.dropped.length >= droppedPathsMax) return;
  const path = place.replaceAll(/\[\d+\]/g, '[]').slice(0, pathCharsMax);
  if (!terms.dropped.includes(path)) terms.dropped.push(path);
}

/** A document is invalid, or has a member without a counterpart in the other format. */
export class NotTranslatable extends Error {
  override name = 'NotTranslatable';
  /** For example `messages[2].content[0].type`; '' for the whole document. */
  readonly path: string;

  constructor(path: string, reason: string) {
    super(path === '' ? `The document ${reason}` : `${path} ${reason}`);
    this.path = path;
  }
}

/** A value and its path in the document. */
export class DocumentNode {
  readonly value: unknown;
  readonly #outer: DocumentNode | null;
  /** Last step of the path: `.role`, `[2]`. */
  readonly #step: string;
  /** Set for the root of a request. */
  readonly #terms: UnsupportedTerms | null;

  constructor(
    value: unknown,
    outer: DocumentNode | null = null,
    step = '',
    terms: UnsupportedTerms | null = null,
  ) {
    this.value = value;
    this.#outer = outer;
    this.#step = step;
    this.#terms = terms;
  }

  /** The root of a request, whose members without a counterpart are treated as `terms` say. */
  static ofRequest(request: Json, terms: UnsupportedTerms): DocumentNode {
    return new DocumentNode(request, null, '', terms);
  }

  get path(): string {
    const outer = this.#outer?.path ?? '';
    return outer === '' ? this.#step.slice(1) : outer + this.#step;
  }

  /** Null counts as missing. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  get isText(): boolean {
    return typeof this.value === 'string';
  }

  /** @throws NotTranslatable when the value is not an object */
  at(name: string): DocumentNode {
    return new DocumentNode(this.json()[name], this, `.${name}`);
  }

  json(): Json {
    const { value } = this;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.refuse('must be an object');
    }
    return value as Json;
  }

  text(): string {
    if (typeof this.value !== 'string') this.refuse('must be a text');
    return this.value as string;
  }

  number(): number {
    if (typeof this.value !== 'number') this.refuse('must be a number');
    return this.value as number;
  }

  items(): DocumentNode[] {
    const { value } = this;
    if (!Array.isArray(value)) this.refuse('must be a list');
    return (value as unknown[]).map((item, at) => new DocumentNode(item, this, `[${at}]`));
  }

  /** Applies {@link dropMeaning} to members with any other name, unless they are null. */
  only(...names: readonly string[]): this {
    for (const name of Object.keys(this.json())) {
      if (names.includes(name)) continue;
      const member = this.at(name);
      if (!member.isAbsent) member.dropMeaning();
    }
    return this;
  }

  /** Leaves out or refuses the members that `rules` do not let through, and all that they do not name. */
  follow(rules: MemberRules): this {
    for (const name of Object.keys(this.json())) {
      const rule = rules.get(name);
      const treatment = rule?.treatment ?? 'refused';
      if (treatment !== 'refused' && treatment !== 'hint') continue;
      const member = this.at(name);
      if (member.isAbsent || rule?.usual.some((one) => isDeepStrictEqual(one, member.value))) {
        continue;
      }
      if (treatment === 'hint') member.dropHint();
      else member.dropMeaning();
    }
    return this;
  }

  /**
   * Leaves out an object of a kind that is not translated, as its rule says; `isOptional` for one that may be unused.
   *
   * @throws NotTranslatable when it must not be left out
   */
  dropKind(shape: ObjectShape, isOptional = false): void {
    const type = this.at('type');
    const kind = type.isText ? type.text() : '';
    const isKnown = Object.hasOwn(shape.kinds, kind);
    const recordAs = isKnown ? this.path.replace(/\[\d+\]$/, `[${kind}]`) : this.path;
    if (isHintOfKind(shape, kind, isOptional)) type.dropHint(recordAs);
    else type.dropMeaning(recordAs);
  }

  /**
   * Leaves the value out and records its path, because it does not change what the response means; the caller must
   * not translate it.
   *
   * @throws NotTranslatable when the config refuses hints too
   */
  dropHint(recordAs: string | null = null): void {
    const terms = this.#rootTerms();
    if (terms?.unsupported === 'refuse') {
      this.refuseUnsupported('remove unsupported: refuse from the config');
    }
    recordDropped(terms, recordAs ?? this.path);
  }

  /**
   * Leaves the value out and records its path where the config permits that, although the response may mean
   * something else without it; the caller must not translate it.
   *
   * @throws NotTranslatable otherwise
   */
  dropMeaning(recordAs: string | null = null): void {
    const terms = this.#rootTerms();
    if (terms?.unsupported !== 'drop')
      this.refuseUnsupported('set unsupported: drop in the config');
    recordDropped(terms, recordAs ?? this.path);
  }

  refuse(reason: string): never {
    throw new NotTranslatable(this.path, reason);
  }

  /** Rejects the value because the other format has no counterpart. */
  refuseUnsupported(remedy: string | null = null): never {
    const otherwise = remedy === null ? '' : `, or ${remedy}`;
    this.refuse(`has no counterpart in the format of the provider: leave it out${otherwise}`);
  }

  #rootTerms(): UnsupportedTerms | null {
    return this.#outer === null ? this.#terms : this.#outer.#rootTerms();
  }
}
