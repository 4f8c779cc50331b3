/** Knows how a Mustache template is read: texts, values, sections and partials, in one pass over it. */

/** What is wrong with a template, or with what it is filled with; the message may be shown. */
export class TemplateError extends Error {
  override name = 'TemplateError';
}

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: Path; readonly isEscaped: boolean }
  | {
      readonly kind: 'section';
      readonly path: Path;
      readonly isInverted: boolean;
      readonly nodes: readonly TemplateNode[];
    }
  | { readonly kind: 'partial'; readonly name: string; readonly indentation: string };

/** `{{a.b}}` as its names; none for `{{.}}`. */
export type Path = readonly string[];

export interface TemplateText {
  readonly nodes: readonly TemplateNode[];
  /** Names of its partials. */
  readonly partials: readonly string[];
}

/** Sections and partials within one another. */
export const depthMax = 32;

/** @throws TemplateError that says where it is no template */
export function readTemplate(text: string): TemplateText {
  return new Reader(text).read();
}

interface Tag {
  /** What stands after the braces: `#`, `^`, `/`, `>`, `!`, `&`, `{`, or '' for a value. */
  readonly mark: string;
  readonly name: string;
  readonly at: number;
}

/** Of one line; blanks are left out where nothing else stands beside its tags. */
type Piece = { readonly blank: string } | { readonly node: TemplateNode } | { readonly tag: Tag };

interface Open {
  readonly tag: Tag | null;
  readonly nodes: TemplateNode[];
}

const marks = new Set(['#', '^', '/', '>', '!', '&', '{', '=']);

/** Reading is linear in the text: nothing is searched for twice. */
class Reader {
  readonly #text: string;
  readonly #open: Open[] = [{ tag: null, nodes: [] }];
  readonly #partials = new Set<string>();
  #line: Piece[] = [];
  /** Whether the line shows anything. */
  #isShown = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): TemplateText {
    let at = 0;
    while (at < this.#text.length) {
      const found = this.#text.indexOf('{{', at);
      const end = found < 0 ? this.#text.length : found;
      this.#takeText(this.#text.slice(at, end));
      at = found < 0 ? end : this.#takeTag(found);
    }
    this.#endLine();
    const { tag, nodes } = this.#open.at(-1)!;
    if (tag !== null) throw new TemplateError(`Section ${tag.name} at ${tag.at} is not closed`);
    return { nodes, partials: [...this.#partials] };
  }

  #takeText(text: string): void {
    let at = 0;
    while (at < text.length) {
      const newline = text.indexOf('\n', at);
      const end = newline < 0 ? text.length : newline + 1;
      const piece = text.slice(at, end);
      if (piece.trim() === '') this.#line.push({ blank: piece });
      else this.#show({ kind: 'text', text: piece });
      if (newline >= 0) this.#endLine();
      at = end;
    }
  }

  /** Yields where the text goes on. */
  #takeTag(at: number): number {
    const close = this.#text[at + 2] === '{' ? '}}}' : '}}';
    const end = this.#text.indexOf(close, at + 2);
    if (end < 0) throw new TemplateError(`The tag at ${at} is not closed`);
    const inner = this.#text.slice(at + 2, end).trim();
    const mark = marks.has(inner[0]!) ? inner[0]! : '';
    const tag = { mark, name: inner.slice(mark.length).trim(), at };
    if (mark === '=') throw new TemplateError(`The tag at ${at} would change the delimiters`);
    if (tag.name === '' && mark !== '!') throw new TemplateError(`The tag at ${at} has no name`);
    if (mark === '' || mark === '&' || mark === '{') {
      this.#show({ kind: 'value', path: pathOf(tag.name), isEscaped: mark === '' });
    } else this.#line.push({ tag });
    return end + close.length;
  }

  #show(node: TemplateNode): void {
    this.#isShown = true;
    this.#line.push({ node });
  }

  #endLine(): void {
    const isOfTagsOnly = !this.#isShown && this.#line.some((piece) => 'tag' in piece);
    const [first] = this.#line;
    // What stands before the first tag is put before each line of a partial.
    let indentation = isOfTagsOnly && first !== undefined && 'blank' in first ? first.blank : '';
    for (const piece of this.#line) {
      if ('tag' in piece) {
        this.#apply(piece.tag, indentation);
        indentation = '';
      } else if ('node' in piece) this.#add(piece.node);
      else if (!isOfTagsOnly) this.#add({ kind: 'text', text: piece.blank });
    }
    this.#line = [];
    this.#isShown = false;
  }

  #add(node: TemplateNode): void {
    this.#open.at(-1)!.nodes.push(node);
  }

  #apply(tag: Tag, indentation: string): void {
    if (tag.mark === '!') return;
    if (tag.mark === '>') {
      this.#partials.add(tag.name);
      this.#add({ kind: 'partial', name: tag.name, indentation });
    } else if (tag.mark === '/') this.#close(tag);
    else {
      if (this.#open.length > depthMax) {
        throw new TemplateError(`The section at ${tag.at} lies more than ${depthMax} deep`);
      }
      this.#open.push({ tag, nodes: [] });
    }
  }

  #close({ name, at }: Tag): void {
    const { tag, nodes } = this.#open.at(-1)!;
    if (tag?.name !== name) {
      const hint = tag === null ? 'no section is open' : `${tag.name} has to be closed first`;
      throw new TemplateError(`Section ${name} is closed at ${at}, where ${hint}`);
    }
    this.#open.pop();
    this.#add({ kind: 'section', path: pathOf(name), isInverted: tag.mark === '^', nodes });
  }
}

function pathOf(name: string): Path {
  return name === '.' ? [] : name.split('.');
}
