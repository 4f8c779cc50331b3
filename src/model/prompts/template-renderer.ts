/** Renders parsed templates with a bound on the work, because tenants supply both templates and variables. */
import {
  parseTemplate,
  TemplateError,
  type TemplateNode,
  templateDepthMax,
  type VariablePath,
} from './template-parser.ts';

/** Maximum nodes rendered plus contexts searched for variables; takes a few milliseconds. */
const workMax = 200_000;
/** Maximum characters of all rendered texts together. */
const charactersMax = 4 * 1024 * 1024;

export type Escape = (text: string) => string;

/** Leaves a text unchanged. */
export const withoutEscaping: Escape = (text) => text;

/** Renders the texts of one prompt within one common bound. */
export class TemplateRenderer {
  readonly #partialOf: (name: string) => string;
  readonly #contexts: unknown[];
  readonly #escape: Escape;
  readonly #read = new Map<string, readonly TemplateNode[]>();
  #written: string[] = [];
  #work = 0;
  #characters = 0;
  #depth = 0;

  /** `partialOf` throws a TemplateError for an unknown partial. */
  constructor(
    variables: unknown,
    partialOf: (name: string) => string,
    escaped: Escape = withoutEscaping,
  ) {
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
    if (this.#depth > templateDepthMax + 1) {
      throw new TemplateError(
        `Sections and partials are nested deeper than ${templateDepthMax} levels`,
      );
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

  #value(path: VariablePath, isEscaped: boolean): void {
    const text = textOf(this.#find(path));
    this.#write(isEscaped ? this.#escape(text) : text);
  }

  #section({ path, isInverted, nodes }: TemplateNode & { readonly kind: 'section' }): void {
    const value = this.#find(path);
    const isEmpty = !value || (Array.isArray(value) && value.length === 0);
    if (isInverted || isEmpty) {
      if (isInverted && isEmpty) this.#nodes(nodes);
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
    const key = `${indentation}${name}`;
    if (!this.#read.has(key)) this.#read.set(key, this.#nodesOf(name, indentation));
    this.#nodes(this.#read.get(key)!);
  }

  #nodesOf(name: string, indentation: string): readonly TemplateNode[] {
    const text = this.#partialOf(name);
    this.#count(Math.ceil(text.length / 10));
    const indented = indentation === '' ? text : text.replace(/^(?=.)/gm, indentation);
    return parseTemplate(indented).nodes;
  }

  /** Finds the innermost context that has the first name, and follows the other names from there. */
  #find([first, ...rest]: VariablePath): unknown {
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
    if (this.#work > workMax) throw new TemplateError('The template takes too long to render');
  }

  #write(text: string): void {
    this.#characters += text.length;
    if (this.#characters > charactersMax) {
      throw new TemplateError(`The rendered template exceeds ${charactersMax} characters`);
    }
    this.#written.push(text);
  }
}

/** Checks own members only: inherited members of JavaScript objects are not variables. */
function has(value: unknown, name: string): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

/** A string as it is, null and undefined as '', anything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
