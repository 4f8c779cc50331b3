/**
 * Parses Mustache templates in one pass. Written by hand: Mustache libraries neither bound the work of
 * rendering nor list the partials of a template, and templates come from tenants.
 */

/** A fault in a template or in its variables; the message may be shown to the caller. */
export class TemplateError extends Error {
  override name = 'TemplateError';
}

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: VariablePath; readonly isEscaped: boolean }
  | {
      readonly kind: 'section';
      readonly path: VariablePath;
      readonly isInverted: boolean;
      readonly nodes: readonly TemplateNode[];
    }
  | { readonly kind: 'partial'; readonly name: string; readonly indentation: string };

/** The names in `{{a.b}}`; empty for `{{.}}`. */
export type VariablePath = readonly string[];

export interface ParsedTemplate {
  readonly nodes: readonly TemplateNode[];
  /** Names of its partials. */
  readonly partials: readonly string[];
}

/** Maximum nesting of sections and partials. */
export const templateDepthMax = 32;

/** @throws TemplateError with the offset of the syntax error */
export function parseTemplate(text: string): ParsedTemplate {
  return new TemplateParser(text).read();
}

interface Tag {
  /** The character after the braces: `#`, `^`, `/`, `>`, `!`, `&`, `{`, or '' for a value. */
  readonly mark: string;
  readonly name: string;
  readonly at: number;
}

/** Part of one line. Blanks are dropped if the line contains only tags. */
type LinePart =
  | { readonly blank: string }
  | { readonly node: TemplateNode }
  | { readonly tag: Tag };

interface Open {
  readonly tag: Tag | null;
  readonly nodes: TemplateNode[];
}

const marks = new Set(['#', '^', '/', '>', '!', '&', '{', '=']);

/** Parses in time linear to the text: nothing is searched twice. */
class TemplateParser {
  readonly #text: string;
  readonly #open: Open[] = [{ tag: null, nodes: [] }];
  readonly #partials = new Set<string>();
  #line: LinePart[] = [];
  /** Whether the line renders any text. */
  #hasContent = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): ParsedTemplate {
    let at = 0;
    while (at < this.#text.length) {
      const start = this.#text.indexOf('{{', at);
      const end = start < 0 ? this.#text.length : start;
      this.#takeText(this.#text.slice(at, end));
      at = start < 0 ? end : this.#takeTag(start);
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
      else this.#addContent({ kind: 'text', text: piece });
      if (newline >= 0) this.#endLine();
      at = end;
    }
  }

  /** Returns the offset after the tag. */
  #takeTag(at: number): number {
    const close = this.#text[at + 2] === '{' ? '}}}' : '}}';
    const end = this.#text.indexOf(close, at + 2);
    if (end < 0) throw new TemplateError(`The tag at ${at} is not closed`);
    const inner = this.#text.slice(at + 2, end).trim();
    const mark = marks.has(inner[0]!) ? inner[0]! : '';
    const tag = { mark, name: inner.slice(mark.length).trim(), at };
    if (mark === '=') throw new TemplateError(`The tag at ${at} changes the delimiters`);
    if (tag.name === '' && mark !== '!') throw new TemplateError(`The tag at ${at} has no name`);
    if (mark === '' || mark === '&' || mark === '{') {
      this.#addContent({ kind: 'value', path: pathOf(tag.name), isEscaped: mark === '' });
    } else this.#line.push({ tag });
    return end + close.length;
  }

  #addContent(node: TemplateNode): void {
    this.#hasContent = true;
    this.#line.push({ node });
  }

  #endLine(): void {
    const isOfTagsOnly = !this.#hasContent && this.#line.some((piece) => 'tag' in piece);
    const [first] = this.#line;
    // The blanks before the first tag indent each line of a partial.
    let indentation = isOfTagsOnly && first !== undefined && 'blank' in first ? first.blank : '';
    for (const piece of this.#line) {
      if ('tag' in piece) {
        this.#apply(piece.tag, indentation);
        indentation = '';
      } else if ('node' in piece) this.#add(piece.node);
      else if (!isOfTagsOnly) this.#add({ kind: 'text', text: piece.blank });
    }
    this.#line = [];
    this.#hasContent = false;
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
      if (this.#open.length > templateDepthMax) {
        throw new TemplateError(
          `The section at ${tag.at} is nested deeper than ${templateDepthMax} levels`,
        );
      }
      this.#open.push({ tag, nodes: [] });
    }
  }

  #close({ name, at }: Tag): void {
    const { tag, nodes } = this.#open.at(-1)!;
    if (tag?.name !== name) {
      const hint = tag === null ? 'no section is open' : `${tag.name} must be closed first`;
      throw new TemplateError(`Section ${name} is closed at ${at}, but ${hint}`);
    }
    this.#open.pop();
    this.#add({ kind: 'section', path: pathOf(name), isInverted: tag.mark === '^', nodes });
  }
}

function pathOf(name: string): VariablePath {
  return name === '.' ? [] : name.split('.');
}
