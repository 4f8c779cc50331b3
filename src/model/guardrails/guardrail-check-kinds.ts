/** Catalogue of the built-in guardrail checks: names, parameters and whether they apply to MCP tool calls. */
import { z } from 'zod';
import { longestMatchBytes } from '../patterns/pattern-length.ts';
import { callCheckKinds } from './call-check-kinds.ts';
import { type CheckKind, checkParametersOf } from './check-kind.ts';
import { detectorCheckKinds } from './detector-check-kinds.ts';
import { remoteCheckKinds } from './remote-check-kinds.ts';
import { matchTypes, tokenValidationShape } from './token-validation.ts';

const not = z.boolean().optional();
const strings = z.array(z.string()).min(1);
const quantifier = z.enum(['any', 'all', 'none']).optional();
const count = z.int().min(0).optional();
const schemaDocument = z.union([z.record(z.string(), z.unknown()), z.string()]);
const timeoutMs = z.number().positive().max(60_000).optional();
const headers = z.record(z.string(), z.string()).optional();
const forwardHeaders = z.array(z.string()).optional();
const matchType = matchTypes.optional();

const jwtParameters = checkParametersOf({ ...tokenValidationShape, headerKey: z.string().min(1) });

const webhookParameters = checkParametersOf({
  webhookURL: z.string().min(1),
  headers,
  timeout: timeoutMs,
  forwardHeaders,
  /** Form of request and response; the webhook's own by default. */
  format: z.enum(['generic_guardrail_api']).optional(),
  additional_provider_specific_params: z.record(z.string(), z.unknown()).optional(),
  cacheSeconds: z.int().min(0).max(3_600).optional(),
});

const modelRules = z.looseObject({
  defaults: z.array(z.string()).optional(),
  metadata: z.record(z.string(), z.record(z.string(), z.array(z.string()))).optional(),
});

function counting(what: string): z.ZodType {
  return checkParametersOf({ [`min${what}`]: count, [`max${what}`]: count, not });
}

function longestWordBytes(words: readonly unknown[]): number {
  return Math.max(...words.map((word) => Buffer.byteLength(String(word))));
}

/** A rule may be written `/pattern/flags`. */
function longestReplacedBytes(rule: string): number | null {
  const [, pattern = rule, flags = ''] = /^\/(.+)\/([a-z]*)$/s.exec(rule) ?? [];
  return /[^gi]/.test(flags) ? null : longestMatchBytes(pattern);
}

const tools = true;
/** By id, in the spelling of clients. */
export const checkKinds: Readonly<Record<string, CheckKind>> = {
  'default.regexMatch': {
    name: 'Regex match',
    about: 'The text matches a pattern.',
    parameters: checkParametersOf({ rule: z.string().min(1), not }),
    tools,
    longestMatchBytes: ({ rule, not: isForbidden }) =>
      isForbidden === true ? longestMatchBytes(String(rule)) : null,
  },
  'default.regexReplace': {
    name: 'Regex replace',
    about: 'Matches of a pattern are replaced.',
    parameters: checkParametersOf({
      rule: z.string().min(1),
      redactText: z.string().optional(),
      failOnDetection: z.boolean().optional(),
    }),
    tools,
    longestMatchBytes: ({ rule }) => longestReplacedBytes(String(rule)),
  },
  'default.sentenceCount': {
    name: 'Sentence count',
    about: 'The number of sentences is within the bounds.',
    parameters: counting('Sentences'),
    tools,
  },
  'default.wordCount': {
    name: 'Word count',
    about: 'The number of words is within the bounds.',
    parameters: counting('Words'),
    tools,
  },
  'default.characterCount': {
    name: 'Character count',
    about: 'The number of characters is within the bounds.',
    parameters: counting('Characters'),
    tools,
  },
  'default.contains': {
    name: 'Contains',
    about: 'The text contains any, all or none of the words.',
    parameters: checkParametersOf({ words: strings, operator: quantifier }),
    tools,
    longestMatchBytes: ({ words, operator }) =>
      operator === 'none' && Array.isArray(words) ? longestWordBytes(words) : null,
  },
  'default.jsonSchema': {
    name: 'JSON schema',
    about: 'JSON in the text is valid against a schema.',
    parameters: checkParametersOf({ schema: schemaDocument, not }),
    tools,
  },
  'default.jsonKeys': {
    name: 'JSON keys',
    about: 'JSON in the text has any, all or none of the keys.',
    parameters: checkParametersOf({ keys: strings, operator: quantifier }),
    tools,
  },
  'default.validUrls': {
    name: 'Valid URLs',
    about: 'Every URL in the text responds, or its host name resolves.',
    parameters: checkParametersOf({ onlyDNS: z.boolean().optional(), not }),
    tools: false,
  },
  'default.containsCode': {
    name: 'Contains code',
    about: 'The text contains code in a programming language.',
    parameters: checkParametersOf({ format: z.string().min(1), not }),
    tools: false,
  },
  'default.webhook': {
    name: 'Webhook',
    about: 'A webhook of your own decides.',
    parameters: webhookParameters,
    tools,
  },
  'default.log': {
    name: 'Log',
    about: 'The request and the response are sent to a service of your own.',
    parameters: checkParametersOf({
      logURL: z.string().min(1),
      headers,
      timeout: timeoutMs,
      forwardHeaders,
    }),
    tools: false,
  },
  'default.endsWith': {
    name: 'Ends with',
    about: 'The text ends with a suffix.',
    parameters: checkParametersOf({ suffix: z.string().min(1), not }),
    tools,
  },
  'default.alluppercase': {
    name: 'Upper case',
    about: 'The text has no lower-case letters.',
    parameters: checkParametersOf({ not }),
    tools: false,
  },
  'default.alllowercase': {
    name: 'Lower case',
    about: 'The text has no upper-case letters.',
    parameters: checkParametersOf({ not }),
    tools: false,
  },
  'default.isAllLowerCase': {
    name: 'Lower case',
    about: 'The text has no upper-case letters.',
    parameters: checkParametersOf({ not }),
    tools: false,
  },
  'default.notNull': {
    name: 'Not null',
    about: 'The text is not empty.',
    parameters: checkParametersOf({ not }),
    tools,
  },
  'default.modelWhitelist': {
    name: 'Model whitelist',
    about: 'The model is in the list.',
    parameters: checkParametersOf({ models: strings, not }),
    tools: false,
  },
  'default.modelRules': {
    name: 'Model rules',
    about: 'The metadata allow the model.',
    parameters: checkParametersOf({ rules: modelRules, not }),
    tools: false,
  },
  'default.requiredMetadataKeys': {
    name: 'Required metadata keys',
    about: 'The metadata have any, all or none of the keys.',
    parameters: checkParametersOf({ metadataKeys: strings, operator: quantifier, not }),
    tools,
  },
  'default.requiredMetadataKeyValuePairs': {
    name: 'Required metadata pairs',
    about: 'The metadata have any, all or none of the pairs.',
    parameters: checkParametersOf({
      metadataPairs: z.record(z.string(), z.unknown()),
      operator: quantifier,
      matchType,
      not,
    }),
    tools,
  },
  'default.allowedRequestTypes': {
    name: 'Allowed request types',
    about: 'The request type is allowed.',
    parameters: checkParametersOf({
      allowedTypes: z.array(z.string()).optional(),
      blockedTypes: z.array(z.string()).optional(),
    }),
    tools: false,
  },
  'default.jwt': {
    name: 'JWT',
    about: 'A header contains a token signed by its issuer.',
    parameters: jwtParameters,
    tools,
  },
  'default.addPrefix': {
    name: 'Add prefix',
    about: 'A prefix is added to the user message.',
    parameters: checkParametersOf({
      prefix: z.string(),
      applyToRole: z.string().optional(),
      addToExisting: z.boolean().optional(),
      onlyIfEmpty: z.boolean().optional(),
    }),
    tools: false,
  },
  ...callCheckKinds,
  ...detectorCheckKinds,
  ...remoteCheckKinds,
};
