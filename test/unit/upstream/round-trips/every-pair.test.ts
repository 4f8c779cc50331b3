/** Checks that a generated request of every format keeps its meaning at a provider of every other one, and back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FormatName } from '../../../../src/model/services/provider-addresses.ts';
import { translationFor } from '../../../../src/upstream/formats/all-translations.ts';
import {
  type Conversation,
  chatOf,
  conversations,
  withInlinePictures,
} from '../../../support/round-trips/requests.ts';

type Json = Readonly<Record<string, unknown>>;

const paths: Readonly<Record<FormatName, string>> = {
  openai: '/chat/completions',
  anthropic: '/messages',
  gemini: '/v1beta/models:generateContent',
  converse: '/model/converse',
};
const formats = Object.keys(paths) as FormatName[];
/** Services whose requests keep the most; chats of OpenRouter have every extension. */
const services: Readonly<Record<FormatName, string>> = {
  openai: 'openrouter',
  anthropic: 'anthropic',
  gemini: 'google',
  converse: 'bedrock',
};
const pairs = formats.flatMap((from) =>
  formats.filter((to) => to !== from).map((to) => ({ from, to })),
);

function translate(body: Json, from: FormatName, to: FormatName): Json {
  if (from === to) return body;
  const terms = { service: services[to], unsupported: null, dropped: [] };
  const translated = translationFor(paths[from], to, false)!.request(body, terms);
  // Model and stream are members inside of the gateway, whatever the format.
  return { ...translated, model: body.model, ...(body.stream === true ? { stream: true } : {}) };
}

/** The conversation without what one of the formats lacks, as docs/reference/translation.md states. */
function common(talk: Conversation, used: readonly FormatName[]): Conversation {
  const [hasGemini, hasConverse] = [used.includes('gemini'), used.includes('converse')];
  const isAbsent = talk.choice === 'auto' || (hasConverse && talk.choice === 'none');
  const choice = hasGemini && talk.choice === 'weather' ? 'required' : talk.choice;
  return {
    ...(hasConverse ? withInlinePictures(talk) : talk),
    choice: isAbsent ? null : choice,
    isSequential: talk.isSequential && !hasGemini && !hasConverse,
  };
}

/** Members that only one of the formats has: names of files and of schemas, and marks of closed schemas. */
const labels: ReadonlySet<string> = new Set(['filename', 'title', 'name', 'strict']);

/** Leaves out labels of files and schemas; arguments and results by value, one text alone as content. */
function meaningOf(body: Json): unknown {
  return JSON.parse(JSON.stringify(body), (name, member) => {
    if (name === 'arguments' || name === 'schema') return parsed(member);
    if (name === 'file' || name === 'json_schema' || name === 'jsonSchema' || name === 'document') {
      return Object.fromEntries(Object.entries(member).filter(([key]) => !labels.has(key)));
    }
    if (name === 'title') return undefined;
    if (name === 'text' || name === 'content' || name === 'output') return parsed(single(member));
    return member;
  });
}

function single(member: unknown): unknown {
  if (!Array.isArray(member) || member.length !== 1) return member;
  const [{ type, text }] = member;
  return type === 'text' ? text : member;
}

/** The value of a JSON object in a text. */
function parsed(member: unknown): unknown {
  if (typeof member !== 'string' || !/^\s*\{/.test(member)) return member;
  try {
    return JSON.parse(member);
  } catch {
    return member;
  }
}

describe.each(pairs)('a request of $from at a provider of $to, and back', ({ from, to }) => {
  it('keeps every message, tool and setting', () => {
    fc.assert(
      fc.property(conversations, (talk) => {
        const request = translate(chatOf(common(talk, [from, to])), 'openai', from);
        const back = translate(translate(request, from, to), to, from);
        expect(meaningOf(back)).toEqual(meaningOf(request));
      }),
    );
  });
});
