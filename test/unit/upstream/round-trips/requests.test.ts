/** Checks that generated requests keep their meaning in another format and back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FormatName } from '../../../../src/model/services/provider-addresses.ts';
import { translationFor } from '../../../../src/upstream/formats/all-translations.ts';
import {
  chatOf,
  conversations,
  responsesOf,
  withInlinePictures,
} from '../../../support/round-trips/requests.ts';

type Json = Readonly<Record<string, unknown>>;

const messagesPath = '/messages';
const geminiPath = '/v1beta/models:generateContent';

function translate(path: string, dialect: FormatName, body: Json) {
  const dropped: string[] = [];
  // A service whose chats have every extension and plain names.
  const terms = {
    service: dialect === 'openai' ? 'openrouter' : dialect,
    unsupported: null,
    dropped,
  };
  return { body: translationFor(path, dialect, false)!.request(body, terms), dropped };
}

/** Arguments of calls by value, and a text alone as content. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, member) => {
    if (name === 'arguments') return JSON.parse(member as string);
    if (name !== 'content' || !Array.isArray(member) || member.length !== 1) return member;
    return member[0].type === 'text' ? member[0].text : member;
  });
}

/** Messages of one role that follow each other are one turn in other formats. */
function joined(messages: readonly Json[]): Json[] {
  const list: Record<string, unknown>[] = [];
  for (const message of messages) {
    const last = list.at(-1);
    const isCalled = last?.role === 'assistant' && message.role === 'assistant';
    if (isCalled && last.tool_calls === undefined) Object.assign(last, message);
    else list.push({ ...message });
  }
  return list;
}

describe('a chat as messages and back', () => {
  it('keeps every message, tool and setting', () => {
    fc.assert(
      fc.property(conversations, (talk) => {
        const chat = chatOf(talk);
        const there = translate('/chat/completions', 'anthropic', chat);
        const back = translate(messagesPath, 'openai', there.body);
        expect(normal(back.body)).toEqual(normal(chat));
        expect([...there.dropped, ...back.dropped]).toEqual([]);
      }),
    );
  });
});

describe("a chat in Gemini's form and back", () => {
  it('keeps every message, tool and setting', () => {
    fc.assert(
      fc.property(conversations, (talk) => {
        // Gemini has no mark for one call at a time, and names no schema.
        const { parallel_tool_calls: _sequential, ...chat } = chatOf({
          ...talk,
          choice: talk.choice === 'weather' ? 'required' : talk.choice,
        });
        const { body, dropped } = translate('/chat/completions', 'gemini', chat);
        const back = translate(geminiPath, 'openai', {
          ...body,
          model: 'm',
          stream: talk.isStream,
        });
        const { response_format: format, tool_choice: choice = 'auto', ...rest } = chat;
        const { response_format: other, tool_choice: returned = 'auto', ...others } = back.body;
        expect([dropped, returned]).toEqual([[], choice]);
        expect((other as { json_schema?: Json })?.json_schema?.schema).toEqual(
          (format as { json_schema?: Json })?.json_schema?.schema,
        );
        expect(results(normal(others))).toEqual(results(normal(rest)));
      }),
    );
  });
});

/** Results that are JSON objects keep their value, not their blanks; file names are not kept. */
function results(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (name, member) => {
    if (name === 'filename') return undefined;
    if (name !== 'content' || typeof member !== 'string' || !member.startsWith('{')) return member;
    try {
      return JSON.parse(member);
    } catch {
      return member;
    }
  });
}

describe('a responses request', () => {
  it.each(['openai', 'anthropic', 'gemini', 'converse'] as const)(
    'means the same as the chat of the conversation at a provider of the format of %s',
    (dialect) => {
      fc.assert(
        fc.property(conversations, (generated) => {
          const talk = dialect === 'converse' ? withInlinePictures(generated) : generated;
          const chat: Json = { ...chatOf({ ...talk, stops: ['x'] }), stop: undefined };
          const { body } = translate('/responses', dialect, responsesOf(talk));
          const same =
            dialect === 'openai' ? chat : translate('/chat/completions', dialect, chat).body;
          if (dialect !== 'openai') {
            expect(normal(body)).toEqual(normal(same));
            return;
          }
          const { messages, ...rest } = body;
          const { messages: others, ...settings } = same;
          expect(normal(joined(messages as Json[]))).toEqual(normal(joined(others as Json[])));
          expect(normal(rest)).toEqual(normal(settings));
        }),
      );
    },
  );
});
