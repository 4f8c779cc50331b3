/** Checks that a rule covers every member that the types of the OpenAI and Anthropic SDKs have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  FormatRules,
  MemberRules,
  ObjectShape,
} from '../../../src/upstream/documents/member-rules.ts';
import { chatRules } from '../../../src/upstream/messages/chat-rules.ts';
import { messageRules } from '../../../src/upstream/messages/message-rules.ts';
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
  if (Object.hasOwn(shape.kinds, '')) return [''];
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

/** Kinds and members of a request type that no rule covers. */
function uncovered(rules: FormatRules, file: string, typeName: string): string[] {
  // A value is read further only where the translation builds its counterpart.
  const objects = types.objectsOf(file, typeName, (object, member) =>
    rulesAt(rules, object).some((one) => one?.get(member)?.treatment === 'mapped'),
  );
  const faults = objects.flatMap((object) => {
    const shape = shapeAt(rules, object.path);
    if (shape === undefined)
      return freePlaces.test(object.path) ? [] : [`${object.path}: no shape`];
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
  /(?:cache_control|input_schema|schema|parameters|\.input|\.function|\.custom|\.format|citations\[\]|^include\[\])(?:\.grammar)?$/;

describe.each([
  [
    'messages',
    messageRules,
    '@anthropic-ai/sdk/resources/messages/messages.d.mts',
    'MessageCreateParamsBase',
  ],
  [
    'chat',
    chatRules,
    'openai/resources/chat/completions/completions.d.mts',
    'ChatCompletionCreateParamsBase',
  ],
  [
    'responses',
    responseRules,
    'openai/resources/responses/responses.d.mts',
    'ResponseCreateParamsBase',
  ],
] as const)('the rules of %s', (_, rules, file, typeName) => {
  it('covers every kind and member of the request type of the SDK', () => {
    expect(uncovered(rules, file, typeName)).toEqual([]);
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
