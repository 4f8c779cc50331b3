/** Knows how a JSON document of one format is read for another: by member, so that none is left out unnoticed. */

export type Json = Readonly<Record<string, unknown>>;

/** A document is not of its format, or says what the other format has no word for. */
export class NotTranslatable extends Error {
  override name = 'NotTranslatable';
  /** `messages[2].content[0].type`; '' for the whole. */
  readonly path: string;

  constructor(path: string, reason: string) {
    super(path === '' ? `The document ${reason}` : `${path} ${reason}`);
    this.path = path;
  }
}

/** A value and where it stands. */
export class DocumentNode {
  readonly value: unknown;
  readonly #outer: DocumentNode | null;
  /** As it stands in a path: `.role`, `[2]`. */
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

  /** Null says as little as a member that is missing. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  get isText(): boolean {
    return typeof this.value === 'string';
  }

  /** @throws NotTranslatable where the value is no object */
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

  /** The members but null, to be read by name; one of any other name has no counterpart. */
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

  /** What it says cannot be said in the other format. */
  refuseUnsupported(): never {
    this.refuse(
      'has no counterpart in the format of the provider: leave it out, or list it in drop_params of the target',
    );
  }
}
