/** Knows how templates are filled in, with a bound on the work: both they and their variables are other people's. */
import {
  depthMax,
  type Path,
  readTemplate,
  TemplateError,
  type TemplateNode,
} from './template-text.ts';

/** Nodes that are written and places that names are looked for in: a few milliseconds. */
const workMax = 200_000;
/** Of the texts that are written together. */
const charactersMax = 4 * 1024 * 1024;

export type Escape = (text: string) => string;

/** What is written for a text as it is. */
export const asItIs: Escape = (text) => text;

/** Fills in the texts of one prompt, all within one bound. */
export class Filling {
  readonly #partialOf: (name: string) => string;
  readonly #contexts: unknown[];
  readonly #escape: Escape;
  readonly #read = new Map<string, readonly TemplateNode[]>();
  #written: string[] = [];
  #work = 0;
  #characters = 0;
  #depth = 0;

  /** `partialOf` throws a TemplateError for one that there is not. */
  constructor(variables: unknown, partialOf: (name: string) => string, escaped: Escape = asItIs) {
    this.#contexts = [variables];
    this.#partialOf = partialOf;
    this.#escape = escaped;
  }

  /** @throws TemplateError */
  fill(nodes: readonly TemplateNode[]): string {
    this.#written = [];
    this.#nodes(nodes);
    return this.#written.join('');
  }

  #nodes(nodes: readonly TemplateNode[]): void {
    this.#depth += 1;
    if (this.#depth > depthMax + 1) {
      throw new TemplateError(`Sections and partials lie more than ${depthMax} deep`);
    }
    for (const node of nodes) {
      this.#count(1);
      if (node.kind === 'text') this.#write(node.text);
      else if (node.kind === 'value') this.#value(node.path, node.isEscaped);
      else if (node.kind === 'section') this.#section(node);
      else this.#partial(node.name, node.indentation);
    }
    this.#depth -= 1;
  }

  #value(path: Path, isEscaped: boolean): void {
    const text = textOf(this.#find(path));
    this.#write(isEscaped ? this.#escape(text) : text);
  }

  #section({ path, isInverted, nodes }: TemplateNode & { readonly kind: 'section' }): void {
    const value = this.#find(path);
    const isNothing = !value || (Array.isArray(value) && value.length === 0);
    if (isInverted || isNothing) {
      if (isInverted && isNothing) this.#nodes(nodes);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#within(item, nodes);
    } else if (value === true) this.#nodes(nodes);
    else this.#within(value, nodes);
  }

  #within(context: unknown, nodes: readonly TemplateNode[]): void {
    this.#count(1);
    this.#contexts.push(context);
    this.#nodes(nodes);
    this.#contexts.pop();
  }

  #partial(name: string, indentation: string): void {
    const place = `${indentation}${name}`;
    if (!this.#read.has(place)) this.#read.set(place, this.#nodesOf(name, indentation));
    this.#nodes(this.#read.get(place)!);
  }

  #nodesOf(name: string, indentation: string): readonly TemplateNode[] {
    const text = this.#partialOf(name);
    this.#count(Math.ceil(text.length / 10));
    const indented = indentation === '' ? text : text.replace(/^(?=.)/gm, indentation);
    return readTemplate(indented).nodes;
  }

  /** The first name is looked for in the innermost place that has it, the others below what it is. */
  #find([first, ...rest]: Path): unknown {
    const innermost = this.#contexts.length - 1;
    if (first === undefined) return this.#contexts[innermost];
    for (let at = innermost; at >= 0; at -= 1) {
      this.#count(1);
      const context = this.#contexts[at];
      if (!has(context, first)) continue;
      this.#count(rest.length);
      return rest.reduce<unknown>(
        (value, name) => (has(value, name) ? value[name] : undefined),
        context[first],
      );
    }
    return undefined;
  }

  #count(work: number): void {
    this.#work += work;
    if (this.#work > workMax) throw new TemplateError('The template takes too long to fill in');
  }

  #write(text: string): void {
    this.#characters += text.length;
    if (this.#characters > charactersMax) {
      throw new TemplateError(`More than ${charactersMax} characters would be written`);
    }
    this.#written.push(text);
  }
}

/** Members of its own only: what JavaScript gives to every object is no variable. */
function has(value: unknown, name: string): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

/** A text as it is, nothing for nothing, anything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
