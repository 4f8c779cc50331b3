/** Defines the content of a prompt version, and merges and compares contents. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonRecord } from '../wire/json-record.ts';

/** The content as stored; null for a field that was not sent. */
export interface PromptContent {
  /** The template: the messages of a chat as JSON, or a text. */
  readonly string: string;
  readonly parameters: JsonRecord | null;
  readonly model: string | null;
  /** The provider, by its slug. */
  readonly virtual_key: string | null;
  readonly functions: readonly JsonRecord[] | null;
  readonly tools: readonly JsonRecord[] | null;
  readonly tool_choice: string | JsonRecord | null;
  readonly template_metadata: JsonRecord | null;
  /** Stored as sent, so that a manifest compares equal to what it declares. */
  readonly is_raw_template: 0 | 1 | boolean | null;
  readonly version_description: string | null;
}

/** The content fields of a body; undefined for a field that is absent. */
type ContentFields = { readonly [F in keyof PromptContent]?: PromptContent[F] | undefined };

const emptyContent: PromptContent = {
  string: '',
  parameters: null,
  model: null,
  virtual_key: null,
  functions: null,
  tools: null,
  tool_choice: null,
  template_metadata: null,
  is_raw_template: null,
  version_description: null,
};

/** Returns `before` with the fields of a body applied. */
export function mergeContent(
  body: ContentFields,
  before: PromptContent = emptyContent,
): PromptContent {
  return {
    string: body.string ?? before.string,
    // Clients send null when they change nothing but the name.
    parameters: body.parameters ?? before.parameters,
    model: presentOr(body.model, before.model),
    virtual_key: presentOr(body.virtual_key, before.virtual_key),
    functions: presentOr(body.functions, before.functions),
    tools: presentOr(body.tools, before.tools),
    tool_choice: presentOr(body.tool_choice, before.tool_choice),
    template_metadata: presentOr(body.template_metadata, before.template_metadata),
    is_raw_template: presentOr(body.is_raw_template, before.is_raw_template),
    version_description: presentOr(body.version_description, before.version_description),
  };
}

function presentOr<T>(value: T | undefined, before: T): T {
  return value === undefined ? before : value;
}

/** Whether the template must be JSON only after its variables are filled in. */
export function isRaw({ is_raw_template }: Pick<PromptContent, 'is_raw_template'>): boolean {
  return is_raw_template === 1 || is_raw_template === true;
}

export function promptModel({ model, parameters }: PromptContent): string | null {
  const name = model ?? parameters?.model;
  return typeof name === 'string' ? name : null;
}

/** The parameters as API clients read them, including the model. */
export function promptParameters(content: PromptContent): JsonRecord {
  const model = promptModel(content);
  return { ...content.parameters, ...(model === null ? {} : { model }) };
}

/**
 * Whether two contents are the same version. The provider and the description are ignored because they
 * do not belong to a single version.
 */
export function hasSameContent(one: PromptContent, other: PromptContent): boolean {
  return isDeepStrictEqual(comparableContent(one), comparableContent(other));
}

function comparableContent(content: PromptContent): unknown {
  const { string, functions, tools, tool_choice, template_metadata } = content;
  return [
    string,
    promptParameters(content),
    functions,
    tools,
    tool_choice,
    template_metadata,
    isRaw(content),
  ];
}
