/**
 * Lists the members of requests and responses whose strings are no text (docs/reference/guardrails.md,
 * Members that are not judged). Every other string is judged. A value that lacks the form of its member
 * is judged as well: blanks and non-ASCII characters occur in text only.
 */

/** Whether a value has the form of its member. */
type HasForm = (value: string) => boolean;

const roles: ReadonlySet<string> = new Set([
  'assistant',
  'developer',
  'function',
  'model',
  'system',
  'tool',
  'user',
]);

const isRole: HasForm = (value) => roles.has(value);
/** `json_schema`, `image/png`, `web_search_20250305`. */
const isWord: HasForm = (value) => /^[\w.:/+;=*-]{1,128}$/.test(value);
const isIdentifier: HasForm = (value) => /^[!-~]{1,512}$/.test(value);
const isAddress: HasForm = (value) => /^(?:https?|gs|s3):[!-~]*$/i.test(value);
/** Base64, also as the address of a picture: `data:image/png;base64,AAAA`. */
const isBytes: HasForm = (value) => /^(?:data:[\w.+/;=-]*,)?[\w+/=-]*$/.test(value);
const isAddressOrBytes: HasForm = (value) =>
  value.startsWith('data:') ? isBytes(value) : isAddress(value);

interface MemberForm {
  readonly about: string;
  readonly names: readonly string[];
  readonly hasForm: HasForm;
}

/** The documented list; names that end with `id` or `ids` after `_` are identifiers too. */
export const nonTextMembers: readonly MemberForm[] = [
  {
    about: 'one of the known roles',
    names: ['role'],
    hasForm: isRole,
  },
  {
    about: 'a setting or a kind: one ASCII word of at most 128 characters',
    names: [
      'background',
      'blockReason',
      'detail',
      'effort',
      'encoding_format',
      'finish_reason',
      'finishReason',
      'format',
      'function_call',
      'include',
      'input_fidelity',
      'media_type',
      'mime_type',
      'mimeType',
      'modalities',
      'modality',
      'mode',
      'moderation',
      'object',
      'output_format',
      'purpose',
      'quality',
      'reasoning_effort',
      'response_format',
      'responseMimeType',
      'search_context_size',
      'service_tier',
      'size',
      'status',
      'stop_reason',
      'stopReason',
      'style',
      'tool_choice',
      'truncation',
      'ttl',
      'type',
      'verbosity',
      'voice',
    ],
    hasForm: isWord,
  },
  {
    about: 'an identifier: ASCII without blanks, at most 512 characters',
    names: [
      'container',
      'conversation',
      'engine',
      'id',
      'ids',
      'model',
      'models',
      'modelVersion',
      'obfuscation',
      'prompt_cache_key',
      'responseId',
      'safety_identifier',
      'system_fingerprint',
      'toolUseId',
      'user',
      'version',
    ],
    hasForm: isIdentifier,
  },
  {
    about: 'an address of a picture or a file, or its bytes in base64',
    names: ['file_uri', 'fileUri', 'file_url', 'image_url', 'server_url', 'uri', 'url'],
    hasForm: isAddressOrBytes,
  },
  {
    about: 'bytes in base64',
    names: [
      'b64_json',
      'encrypted_content',
      'file_data',
      'partial_image_b64',
      'redactedContent',
      'signature',
      'thought_signature',
      'thoughtSignature',
    ],
    hasForm: isBytes,
  },
];

const formByName = new Map(
  nonTextMembers.flatMap(({ names, hasForm }) => names.map((name) => [name, hasForm] as const)),
);

/** Members whose `data` is base64 in every format that has them. */
const dataOwners: ReadonlySet<string> = new Set([
  'audio',
  'input_audio',
  'inline_data',
  'inlineData',
]);

/** The object that contains a string, and the name of the member that contains the object. */
export interface StringOwner {
  readonly name: string;
  readonly type: unknown;
}

/** Whether the string of a member is no text. */
export function isNonText(name: string, value: string, owner: StringOwner): boolean {
  if (name === 'data') {
    const isEncoded = owner.type === 'base64' || dataOwners.has(owner.name);
    return isEncoded && isBytes(value);
  }
  if (name === 'bytes') return owner.name === 'source' && isBytes(value);
  const hasForm = formByName.get(name) ?? (/_ids?$/.test(name) ? isIdentifier : undefined);
  return hasForm?.(value) ?? false;
}

const schemaWords: ReadonlySet<string> = new Set(['$id', '$ref', '$schema', 'format', 'type']);

/** Whether the string of a keyword of a JSON schema is no text. */
export function isSchemaWord(name: string, value: string): boolean {
  return schemaWords.has(name) && (name.startsWith('$') ? isIdentifier(value) : isWord(value));
}

/** Members whose value is a JSON schema. */
export const schemaMembers: ReadonlySet<string> = new Set([
  'input_schema',
  'inputSchema',
  'parameters',
  'parametersJsonSchema',
  'responseJsonSchema',
  'response_schema',
  'responseSchema',
  'schema',
]);

/** Keywords of a JSON schema whose value is a schema or a list of them. Values of others are data. */
export const schemaPartMembers: ReadonlySet<string> = new Set([
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'else',
  'if',
  'items',
  'json',
  'not',
  'oneOf',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Keywords of a JSON schema whose value contains schemas by names that the caller chooses. */
export const schemaMapMembers: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

/**
 * Members whose objects have members of the format. In the object of any other member every string is
 * text, whatever its name: the caller chooses the names in arguments, variables and metadata.
 */
export const formatMembers: ReadonlySet<string> = new Set([
  'additional_messages',
  'annotations',
  'attachments',
  'audio',
  'body',
  'cache_control',
  'candidates',
  'choices',
  'citations',
  'code_interpreter',
  'codeExecutionResult',
  'computer_call',
  'container',
  'content',
  'content_block',
  'content_parts',
  'contentBlockDelta',
  'contentBlockStart',
  'contents',
  'conversation',
  'data',
  'delta',
  'document',
  'executableCode',
  'file',
  'file_data',
  'file_search',
  'fileData',
  'function',
  'functionCall',
  'functionDeclarations',
  'functionResponse',
  'functions',
  'generationConfig',
  'guardContent',
  'image',
  'image_url',
  'inferenceConfig',
  'inline_data',
  'inlineData',
  'input_audio',
  'item',
  'items',
  'json_schema',
  'message',
  'messages',
  'output',
  'outputs',
  'params',
  'part',
  'parts',
  'prediction',
  'prompt',
  'promptFeedback',
  'promptTokensDetails',
  'reasoning',
  'reasoning_details',
  'reasoningContent',
  'reasoningText',
  'requests',
  'response_format',
  'results',
  'safetyRatings',
  'safetySettings',
  'source',
  'start',
  'step_details',
  'summary',
  'text',
  'thinking',
  'thread',
  'tool_calls',
  'tool_choice',
  'tool_outputs',
  'toolConfig',
  'toolResult',
  'tools',
  'toolSpec',
  'toolUse',
  'usage',
  'usageMetadata',
  'video',
  'video_url',
]);

/** Members that repeat a text in pieces, so only the text is judged. */
export const repeatingMembers: ReadonlySet<string> = new Set([
  'logprobs',
  'logprobsResult',
  'top_logprobs',
]);

/** Members beside the message: calls of tools, reasoning and names. */
export const asideMembers: ReadonlySet<string> = new Set([
  'annotations',
  'arguments',
  'citation',
  'citationMetadata',
  'citations',
  'filename',
  'function_call',
  'functionCall',
  'groundingMetadata',
  'metadata',
  'name',
  'partial_json',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoningContent',
  'safetyRatings',
  'thinking',
  'tool_calls',
  'toolUse',
]);

/** Types of parts and items beside the message: `reasoning`, `tool_use`, `function_call`. */
export function isAsideType(type: unknown): boolean {
  return typeof type === 'string' && /^reasoning|thinking$|tool_use$|_call$/.test(type);
}
