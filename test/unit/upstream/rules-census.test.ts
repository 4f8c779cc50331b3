/** Checks that a rule covers every member that the types of the OpenAI and Anthropic SDKs have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatAnswerToConverseRules } from '../../../src/upstream/converse/chat-answer-rules.ts';
import { chatToConverseRules } from '../../../src/upstream/converse/chat-to-converse-rules.ts';
import { converseAnswerRules } from '../../../src/upstream/converse/converse-answer-rules.ts';
import {
  blockShape,
  converseRequestRules,
} from '../../../src/upstream/converse/converse-request-rules.ts';
import type {
  FormatRules,
  MemberRules,
  ObjectShape,
} from '../../../src/upstream/documents/member-rules.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { chatAnswerToGeminiRules } from '../../../src/upstream/gemini/chat-answer-rules.ts';
import { chatToGeminiRules } from '../../../src/upstream/gemini/chat-to-gemini-rules.ts';
import { geminiAnswerRules } from '../../../src/upstream/gemini/gemini-answer-rules.ts';
import {
  geminiRequestRules,
  requestShape,
  settingsShape,
} from '../../../src/upstream/gemini/gemini-request-rules.ts';
import { chatAnswerRules } from '../../../src/upstream/messages/chat-answer-rules.ts';
import { chatRules } from '../../../src/upstream/messages/chat-rules.ts';
import { messageAnswerRules } from '../../../src/upstream/messages/message-answer-rules.ts';
import { messageRules } from '../../../src/upstream/messages/message-rules.ts';
import { chatAnswerToResponsesRules } from '../../../src/upstream/responses/chat-answer-rules.ts';
import { responseRules } from '../../../src/upstream/responses/response-rules.ts';
import { type SdkObject, SdkTypes } from '../../support/sdk/sdk-types.ts';

let types: SdkTypes;
beforeAll(() => {
  types = new SdkTypes();
});
afterAll(() => types[Symbol.dispose]());

function shapeAt(rules: FormatRules, path: string): ObjectShape | undefined {
  return rules.shapes.find(({ places }) => places.test(path));
}

/** A union of literals is several kinds. */
function kindsOf({ kind }: SdkObject, shape: ObjectShape): readonly string[] {
  if (Object.keys(shape.kinds).length === 1 && Object.hasOwn(shape.kinds, '')) return [''];
  return (kind ?? '').split('|');
}

function rulesAt(rules: FormatRules, object: SdkObject): readonly (MemberRules | null)[] {
  const shape = shapeAt(rules, object.path);
  if (shape === undefined) return [];
  return kindsOf(object, shape).map((kind) => {
    const found = shape.kinds[kind];
    return found instanceof Map ? (found as MemberRules) : null;
  });
}

/** Kinds and members of a type that no rule covers; `at` is the place of its objects in the document. */
function uncovered(rules: FormatRules, file: string, typeName: string, at = ''): string[] {
  const placed = (object: SdkObject): SdkObject => {
    const path = [at, object.path].filter((one) => one !== '').join('.');
    return { ...object, path };
  };
  // A value is read further only where the translation builds its counterpart.
  const found = types.objectsOf(file, typeName, (object, member) =>
    rulesAt(rules, placed(object)).some((one) => one?.get(member)?.treatment === 'mapped'),
  );
  const faults = found.map(placed).flatMap((object) => {
    const shape = shapeAt(rules, object.path);
    if (shape === undefined)
      return freePlaces.test(object.path) || converseFree.test(object.path)
        ? []
        : [`${object.path}: no shape`];
    return kindsOf(object, shape).flatMap((kind) => {
      if (!Object.hasOwn(shape.kinds, kind)) return [`${object.path}[${kind}]`];
      const found = shape.kinds[kind];
      if (!(found instanceof Map)) return [];
      const missing = object.members.filter((member) => !found.has(member));
      return missing.map((member) => `${object.path}[${kind}].${member}`);
    });
  });
  return [...new Set(faults)];
}

/** Objects that are built member by member in code which refuses others, or whose members callers choose. */
const freePlaces =
  /(?:cache_control|logprobs|logprobsResult|\.args|input_schema|schema|responseSchema|parameters|\.input|\.function|\.custom|\.format|citations\[\]|^include\[\])(?:\.grammar)?$/;

/** As above, of Converse. */
const converseFree =
  /^(?:serviceTier|\w+Exception|outputConfig\.textFormat|toolConfig\.toolChoice\.(?:any|tool)|.*\.(?:cachePoint|image|document|guardContent|searchResult|citationsContent|reasoningContent|redactedContent|content\[\]\.toolResult\.content\[\])|system\[\]\.guardContent)$/;

describe.each([
  [
    'messages',
    messageRules,
    '@anthropic-ai/sdk/resources/messages/messages.d.mts',
    'MessageCreateParamsBase',
  ],
  [
    'messages with betas',
    messageRules,
    '@anthropic-ai/sdk/resources/beta/messages/messages.d.mts',
    'MessageCreateParamsBase',
  ],
  ...[chatRules, chatToGeminiRules, chatToConverseRules].map((rules) => [
    `chat to ${rules.to}`,
    rules,
    'openai/resources/chat/completions/completions.d.mts',
    'ChatCompletionCreateParamsBase',
  ]),
  [
    'responses',
    responseRules,
    'openai/resources/responses/responses.d.mts',
    'ResponseCreateParamsBase',
  ],
  [
    'responses with betas',
    responseRules,
    'openai/resources/beta/responses/responses.d.mts',
    'ResponseCreateParamsBase',
  ],
  ...[
    ['messages/messages.d.mts', ''],
    ['beta/messages/messages.d.mts', 'Beta'],
  ].flatMap(([path, prefix]) =>
    ['Message', 'RawMessageStreamEvent'].map((name) => [
      `answers in messages (${prefix}${name})`,
      messageAnswerRules,
      `@anthropic-ai/sdk/resources/${path}`,
      `${prefix}${name}`,
    ]),
  ),
  ...[
    chatAnswerRules,
    chatAnswerToResponsesRules,
    chatAnswerToGeminiRules,
    chatAnswerToConverseRules,
  ].flatMap((rules) =>
    ['ChatCompletion', 'ChatCompletionChunk'].map((name) => [
      `answers in chats to ${rules.to} (${name})`,
      rules,
      'openai/resources/chat/completions/completions.d.mts',
      name,
    ]),
  ),
  ...['ConverseResponse', 'ConverseStreamOutput'].map((name) => [
    `answers of Converse (${name})`,
    converseAnswerRules,
    '@aws-sdk/client-bedrock-runtime/dist-types/models/models_0.d.ts',
    name,
  ]),
  [
    "answers in Gemini's form",
    geminiAnswerRules,
    '@google/genai/dist/node/node.d.ts',
    'GenerateContentResponse',
  ],
] as unknown as readonly (readonly [string, FormatRules, string, string])[])(
  'the rules of %s',
  (...given) => {
    const [, rules, file, typeName] = given;

    it('covers every kind and member of the type of the SDK', () => {
      expect(uncovered(rules, file, typeName)).toEqual([]);
    });
  },
);

describe('the rules of requests of Converse', () => {
  it('covers every kind and member of the type of the SDK', () => {
    const file = '@aws-sdk/client-bedrock-runtime/dist-types/models/models_0.d.ts';
    expect(uncovered(converseRequestRules, file, 'ConverseRequest')).toEqual([]);
    expect(uncovered(converseRequestRules, file, 'ConverseStreamRequest')).toEqual([]);
  });

  it('refuses exactly the content blocks of which the table says so', () => {
    const translation = translationFor('/model/converse', 'openai')!;
    const refusedOf = [...blockShape.kinds['']].filter(([name, { treatment }]) => {
      const body = { model: 'm', messages: [{ role: 'user', content: [{ [name]: {} }] }] };
      const terms = { service: 'openrouter', unsupported: null, dropped: [] };
      const refuse = () => translation.request(body, terms);
      if (treatment !== 'refused') return false;
      expect(refuse).toThrow('messages[0].content[0] has no counterpart');
      return true;
    });
    expect(refusedOf.map(([name]) => name)).toEqual([
      'video',
      'audio',
      'toolAddition',
      'toolRemoval',
    ]);
  });
});

/** The SDK has one flat object where the wire has the request and its `generationConfig`. */
const geminiFile = '@google/genai/dist/node/node.d.ts';

describe("the rules of requests in Gemini's form", () => {
  it.each([
    ['Content', 'contents[]'],
    ['GenerationConfig', 'generationConfig'],
    ['Tool', 'tools[]'],
    ['ToolConfig', 'toolConfig'],
  ])('covers every member of the type %s of the SDK, at %s', (typeName, at) => {
    expect(uncovered(geminiRequestRules, geminiFile, typeName, at)).toEqual([]);
  });

  it('covers every setting of the SDK, in the request or in its generationConfig', () => {
    const [config] = types.objectsOf(geminiFile, 'GenerateContentConfig', () => false);
    const known = [requestShape, settingsShape].flatMap(({ kinds }) => [...kinds[''].keys()]);
    expect(config!.members.filter((name) => !known.includes(name))).toEqual([]);
    expect(config!.members.length).toBeGreaterThan(30);
  });
});

it('reports a member that a later SDK adds', () => {
  const [request, ...others] = messageRules.shapes;
  const members = new Map(request!.kinds[''] as MemberRules);
  members.delete('speed');
  const older = { ...messageRules, shapes: [{ ...request!, kinds: { '': members } }, ...others] };
  const file = '@anthropic-ai/sdk/resources/messages/messages.d.mts';
  expect(uncovered(older, file, 'MessageCreateParamsBase')).toEqual(['[].speed']);
});
