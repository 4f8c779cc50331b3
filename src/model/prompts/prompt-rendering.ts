/** Renders a prompt: fills its template with variables and builds the inference request. */
import { type Fault, faultAt } from '../wire/fault.ts';
import type { JsonRecord } from '../wire/json-record.ts';
import { isRaw, type PromptContent, promptParameters } from './prompt-content.ts';
import {
  type ParsedTemplate,
  parseTemplate,
  TemplateError,
  templateDepthMax,
} from './template-parser.ts';
import { type Escape, TemplateRenderer, withoutEscaping } from './template-renderer.ts';

/** Fields that the caller sends for rendering or that the template itself determines. */
const reservedFields = ['variables', 'promptID', 'prompt_id', 'messages', 'prompt'];

interface TemplateFields {
  readonly string: string;
  readonly is_raw_template?: PromptContent['is_raw_template'] | undefined;
}

/** Returns the faults in the template of a prompt or partial. */
export function templateFaults({ string, ...rest }: TemplateFields): Fault[] {
  try {
    parseTexts(templateShape(string, isRaw({ is_raw_template: rest.is_raw_template ?? 0 })));
    return [];
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    return faultAt('string', `is not a valid template: ${thrown.message}`);
  }
}

const nameLengthMax = 100;

/** A valid template that can be rendered any number of times. */
export class PromptTemplate {
  readonly #content: PromptContent;
  readonly #shape: Shape;
  readonly #texts: ReadonlyMap<string, ParsedTemplate>;

  constructor(content: PromptContent) {
    this.#content = content;
    this.#shape = templateShape(content.string, isRaw(content));
    this.#texts = parseTexts(this.#shape);
  }

  /** Names of the partials that the template includes. */
  get partials(): string[] {
    return [...this.#texts.values()].flatMap(({ partials }) => partials);
  }

  /**
   * Returns the inference request. Fields of `body` override the parameters of the prompt; `partials`
   * maps names of partials to their templates.
   *
   * @throws TemplateError
   */
  render(body: JsonRecord, partials: ReadonlyMap<string, string>): JsonRecord {
    const variables = body.variables ?? {};
    const partialOf = (name: string): string => {
      const text = partials.get(name);
      if (text !== undefined) return text;
      throw new TemplateError(`There is no partial ${name.slice(0, nameLengthMax)}`);
    };
    const { functions, tools, tool_choice } = this.#content;
    const calls = { functions, tools, tool_choice };
    const fields = [promptParameters(this.#content), calls, body].map((source) =>
      Object.entries(source).filter(
        ([name, value]) => value !== null && value !== undefined && !reservedFields.includes(name),
      ),
    );
    return { ...Object.fromEntries(fields.flat()), ...this.#renderContent(variables, partialOf) };
  }

  #renderContent(variables: unknown, partialOf: (name: string) => string): JsonRecord {
    const shape = this.#shape;
    const escaped = shape.kind === 'raw' ? inJson : withoutEscaping;
    const filling = new TemplateRenderer(variables, partialOf, escaped);
    const fill = (text: string): string => filling.fill(this.#texts.get(text)!.nodes);
    if (shape.kind === 'messages') return { messages: mapTexts(shape.messages, fill) };
    const text = fill(shape.text);
    if (shape.kind === 'raw') return { messages: rawMessages(text) };
    const isPrompt = this.#content.template_metadata?.template_type === 'completion';
    return isPrompt ? { prompt: text } : { messages: [{ role: 'user', content: text }] };
  }
}

type JsonValue = JsonRecord[string];

type Shape =
  | { readonly kind: 'messages'; readonly messages: readonly JsonValue[] }
  | { readonly kind: 'raw' | 'text'; readonly text: string };

function templateShape(text: string, isRawText: boolean): Shape {
  const messages = messagesIn(text);
  if (messages !== null) return { kind: 'messages', messages };
  return { kind: isRawText ? 'raw' : 'text', text };
}

/** Null when the text is not a JSON list of messages. */
function messagesIn(text: string): JsonValue[] | null {
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

function rawMessages(text: string): JsonValue[] {
  const messages = messagesIn(text);
  if (messages === null) {
    throw new TemplateError('The rendered raw template is not a JSON list of messages');
  }
  return messages;
}

/** @throws TemplateError */
function parseTexts(shape: Shape): Map<string, ParsedTemplate> {
  const texts = new Map<string, ParsedTemplate>();
  const read = (text: string): string => {
    if (!texts.has(text)) texts.set(text, parseTemplate(text));
    return text;
  };
  if (shape.kind === 'messages') mapTexts(shape.messages, read);
  else read(shape.text);
  return texts;
}

function mapTexts<T extends JsonValue | readonly JsonValue[]>(
  value: T,
  change: (text: string) => string,
  depth = 0,
): JsonValue {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  if (depth > templateDepthMax)
    throw new TemplateError(`The messages are nested deeper than ${templateDepthMax} levels`);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, mapTexts(item, change, depth + 1)]),
  );
}

/** Escapes a text for a JSON string whose quotation marks are in the template. */
const inJson: Escape = (text) => JSON.stringify(text).slice(1, -1);
