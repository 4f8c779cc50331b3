/** Knows what one version of a prompt says, and when two say the same. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonRecord } from '../wire/json-record.ts';

/** As stored; null for what was not said. */
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
  /** Kept as it is sent, so that a manifest finds it as it is written. */
  readonly is_raw_template: 0 | 1 | boolean | null;
  readonly version_description: string | null;
}

/** The fields of a body that are its content; undefined for what is not sent. */
type Sent = { readonly [F in keyof PromptContent]?: PromptContent[F] | undefined };

const nothing: PromptContent = {
  ...{ string: '', parameters: null, model: null, virtual_key: null, functions: null },
  ...{ tools: null, tool_choice: null, template_metadata: null, is_raw_template: null },
  version_description: null,
};

/** What comes of a content, or of none, when a body is sent for it. */
export function contentWith(sent: Sent, before: PromptContent = nothing): PromptContent {
  return {
    string: sent.string ?? before.string,
    // Clients send null where they change nothing else than the name.
    parameters: sent.parameters ?? before.parameters,
    model: kept(sent.model, before.model),
    virtual_key: kept(sent.virtual_key, before.virtual_key),
    functions: kept(sent.functions, before.functions),
    tools: kept(sent.tools, before.tools),
    tool_choice: kept(sent.tool_choice, before.tool_choice),
    template_metadata: kept(sent.template_metadata, before.template_metadata),
    is_raw_template: kept(sent.is_raw_template, before.is_raw_template),
    version_description: kept(sent.version_description, before.version_description),
  };
}

function kept<T>(sent: T | undefined, before: T): T {
  return sent === undefined ? before : sent;
}

/** Whether its template need not be JSON before it is filled in. */
export function isRaw({ is_raw_template }: Pick<PromptContent, 'is_raw_template'>): boolean {
  return is_raw_template === 1 || is_raw_template === true;
}

export function modelOf({ model, parameters }: PromptContent): string | null {
  const named = model ?? parameters?.model;
  return typeof named === 'string' ? named : null;
}

/** As clients of the API read them: the model is among them. */
export function parametersOf(content: PromptContent): JsonRecord {
  const model = modelOf(content);
  return { ...content.parameters, ...(model === null ? {} : { model }) };
}

/**
 * Whether a version would say what another does, apart from what belongs to no version alone: the
 * provider and the description.
 */
export function saysTheSame(one: PromptContent, other: PromptContent): boolean {
  return isDeepStrictEqual(heart(one), heart(other));
}

function heart(content: PromptContent): unknown {
  const { string, functions, tools, tool_choice, template_metadata } = content;
  return [
    ...[string, parametersOf(content), functions, tools, tool_choice, template_metadata],
    isRaw(content),
  ];
}
