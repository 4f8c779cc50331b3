/** Knows what becomes of a prompt: the request for a model that its template makes of variables. */
import { type Fault, faultAt } from '../wire/fault.ts';
import type { JsonRecord } from '../wire/json-record.ts';
import { isRaw, type PromptContent, parametersOf } from './prompt-content.ts';
import { asItIs, type Escape, Filling } from './template-filling.ts';
import { depthMax, readTemplate, TemplateError, type TemplateText } from './template-text.ts';

/** What a caller sends beside the variables, and what the prompt itself decides. */
const ownFields = ['variables', 'promptID', 'prompt_id', 'messages', 'prompt'];

interface Templated {
  readonly string: string;
  readonly is_raw_template?: PromptContent['is_raw_template'] | undefined;
}

/** What is wrong with the template of a prompt or partial. */
export function templateFaults({ string, ...rest }: Templated): Fault[] {
  try {
    textsOf(shapeOf(string, isRaw({ is_raw_template: rest.is_raw_template ?? 0 })));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    return faultAt('string', `is no template: ${thrown.message}`);
  }
}

const nameShownMax = 100;

/** A sound template that is filled in as often as it is asked for. */
export class PromptTemplate {
  readonly #content: PromptContent;
  readonly #shape: Shape;
  readonly #texts: ReadonlyMap<string, TemplateText>;

  constructor(content: PromptContent) {
    this.#content = content;
    this.#shape = shapeOf(content.string, isRaw(content));
    this.#texts = textsOf(this.#shape);
  }

  /** Names of the partials that stand in it. */
  get partials(): string[] {
    return [...this.#texts.values()].flatMap(({ partials }) => partials);
  }

  /**
   * The request for a model: what is sent counts before the parameters of the prompt. `partials` are
   * what stands for the names of partials.
   *
   * @throws TemplateError
   */
  render(sent: JsonRecord, partials: ReadonlyMap<string, string>): JsonRecord {
    const variables = sent.variables ?? {};
    const partialOf = (name: string): string => {
      const text = partials.get(name);
      if (text !== undefined) return text;
      throw new TemplateError(`There is no partial ${name.slice(0, nameShownMax)}`);
    };
    const { functions, tools, tool_choice } = this.#content;
    const more = { functions, tools, tool_choice };
    const said = [parametersOf(this.#content), more, sent].map((fields) =>
      Object.entries(fields).filter(
        ([name, value]) => value !== null && value !== undefined && !ownFields.includes(name),
      ),
    );
    return { ...Object.fromEntries(said.flat()), ...this.#filled(variables, partialOf) };
  }

  #filled(variables: unknown, partialOf: (name: string) => string): JsonRecord {
    const shape = this.#shape;
    const escaped = shape.kind === 'raw' ? inJson : asItIs;
    const filling = new Filling(variables, partialOf, escaped);
    const fill = (text: string): string => filling.fill(this.#texts.get(text)!.nodes);
    if (shape.kind === 'messages') return { messages: mapTexts(shape.messages, fill) };
    const text = fill(shape.text);
    if (shape.kind === 'raw') return { messages: rawMessages(text) };
    const isPrompt = this.#content.template_metadata?.template_type === 'completion';
    return isPrompt ? { prompt: text } : { messages: [{ role: 'user', content: text }] };
  }
}

type Json = JsonRecord[string];

type Shape =
  | { readonly kind: 'messages'; readonly messages: readonly Json[] }
  | { readonly kind: 'raw' | 'text'; readonly text: string };

function shapeOf(text: string, isRawText: boolean): Shape {
  const messages = messagesIn(text);
  if (messages !== null) return { kind: 'messages', messages };
  return { kind: isRawText ? 'raw' : 'text', text };
}

/** Null where a text is no list of messages. */
function messagesIn(text: string): Json[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.length > 0 && value.every(isMessage) ? value : null;
  } catch {
    return null;
  }
}

function isMessage(value: unknown): boolean {
  return typeof (value as { readonly role?: unknown } | null)?.role === 'string';
}

function rawMessages(text: string): Json[] {
  const messages = messagesIn(text);
  if (messages === null) {
    throw new TemplateError('The raw template, filled in, is no JSON list of messages');
  }
  return messages;
}

/** @throws TemplateError */
function textsOf(shape: Shape): Map<string, TemplateText> {
  const texts = new Map<string, TemplateText>();
  const read = (text: string): string => {
    if (!texts.has(text)) texts.set(text, readTemplate(text));
    return text;
  };
  if (shape.kind === 'messages') mapTexts(shape.messages, read);
  else read(shape.text);
  return texts;
}

function mapTexts<T extends Json | readonly Json[]>(
  value: T,
  change: (text: string) => string,
  depth = 0,
): Json {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value as Json;
  if (depth > depthMax)
    throw new TemplateError(`The messages are nested more than ${depthMax} deep`);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapTexts(item, change, depth + 1)]),
  );
}

/** Within quotation marks that stand in the template. */
const inJson: Escape = (text) => JSON.stringify(text).slice(1, -1);
