/** Reads a JSON document member by member, so that nothing untranslated is overlooked. */

export type Json = Readonly<Record<string, unknown>>;

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

  constructor(value: unknown, outer: DocumentNode | null = null, step = '') {
    this.value = value;
    this.#outer = outer;
    this.#step = step;
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

  /** Rejects members with any other name, unless they are null. */
  only(...names: readonly string[]): this {
    for (const name of Object.keys(this.json())) {
      const member = this.at(name);
      if (!member.isAbsent && !names.includes(name)) member.refuseUnsupported();
    }
    return this;
  }

  refuse(reason: string): never {
    throw new NotTranslatable(this.path, reason);
  }

  /** Rejects the value because the other format has no counterpart. */
  refuseUnsupported(): never {
    this.refuse(
      'has no counterpart in the format of the provider: leave it out, or list it in drop_params of the target',
    );
  }
}
