/** Extracts model settings for a span: numbers and enumerated words, never free text. */
import type { Params } from '../transfer/read-body.ts';

/** Settings by the attribute names of OpenTelemetry's conventions. */
export type RequestSettings = Readonly<Record<string, number | string | boolean>>;

/** Attribute names after `gen_ai.request.`, and the parameters they come from. */
const numbers: readonly (readonly [name: string, params: readonly string[]])[] = [
  ['max_tokens', ['max_completion_tokens', 'max_tokens', 'max_output_tokens']],
  ...['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'seed'].map(
    (name) => [name, [name]] as const,
  ),
];
/** Output types of OpenAI's formats and their names in the conventions. */
const outputTypes = new Map([
  ['text', 'text'],
  ['json_object', 'json'],
  ['json_schema', 'json'],
]);

export function requestSettings(params: Params): RequestSettings {
  const settings: Record<string, number | string | boolean> = {};
  for (const [name, among] of numbers) {
    const value = among.map((one) => params[one]).find(isNumber);
    if (value !== undefined) settings[`gen_ai.request.${name}`] = value;
  }
  const { n: choices, dimensions } = params;
  if (isNumber(choices) && choices !== 1) settings['gen_ai.request.choice.count'] = choices;
  if (isNumber(dimensions)) settings['gen_ai.embeddings.dimension.count'] = dimensions;
  if (typeof params.stream === 'boolean') settings['gen_ai.request.stream'] = params.stream;
  const format = memberOf(params.response_format, 'type') ?? formatOfResponse(params.text);
  const outputType = outputTypes.get(String(format));
  if (outputType !== undefined) settings['gen_ai.output.type'] = outputType;
  return settings;
}

function formatOfResponse(text: unknown): unknown {
  return memberOf(memberOf(text, 'format'), 'type');
}

/** Excludes JSON numbers that overflow, such as `1e999`. */
function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
