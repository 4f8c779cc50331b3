/**
 * Puts a forbidden text at every position of every format, and verifies that guardrails deny it unless
 * the position is documented as no text.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answersIn, type ResponseForm } from '../../../src/guardrails/texts/answer-passages.ts';
import { nonTextMembers } from '../../../src/guardrails/texts/non-text-members.ts';
import {
  type JsonObject,
  type Passage,
  replaceTexts,
} from '../../../src/guardrails/texts/passages.ts';
import { findRequestPassages } from '../../../src/guardrails/texts/request-passages.ts';
import { decodeText, TextsUnreadable } from '../../../src/guardrails/texts/stored-text.ts';
import { streamAnswer } from '../../../src/guardrails/texts/stream-answer.ts';
import type { TextsForm } from '../../../src/model/endpoints/endpoint.ts';
import { runAtOnce } from '../../../src/slices.ts';
import { pieceEvents, requestBodies, responseBodies, wholeEvents } from './judged-bodies.ts';

type Path = readonly (string | number)[];

const sentence = 'a forbidden-word here';
const word = 'forbidden-word';

/** The members that the reference documents as no text. */
const documentedRows = readFileSync('docs/reference/guardrails.md', 'utf8')
  .split('## Members that are not judged')[1]!
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const documentedNames = new Set(
  documentedRows.flatMap(([, names = '']) =>
    [...names.matchAll(/`([\w$]+)`/g)].map(([, name]) => name!),
  ),
);

function isDocumented(path: Path): boolean {
  const name = path.findLast((step) => typeof step === 'string') ?? '';
  return documentedNames.has(name) || /_ids?$/.test(name);
}

function stringPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, below]) => stringPaths(below, [...path, step as string | number]));
}

function objectPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [
    path,
    ...entries.flatMap(([step, below]) => objectPaths(below, [...path, step as string | number])),
  ];
}

/** A copy with another value at the path, or with a further member or item there. */
function changed(value: unknown, path: Path, change: (old: unknown) => unknown): JsonObject {
  const [step, ...rest] = path;
  if (step === undefined) return change(value) as JsonObject;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[step] = changed(copy[step], rest, change);
  return copy as JsonObject;
}

/** Members, parts and items that no format has. */
const inventions: readonly unknown[] = [
  sentence,
  [sentence],
  { deep: { id: [{ type: word }] } },
  [{ type: 'invented', content: [{ type: 'invented', foo: { bar: sentence } }] }],
  `{"nested":"${[...word].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')}"}`,
];

function inventedBodies(body: JsonObject): { readonly at: string; readonly body: JsonObject }[] {
  return objectPaths(body).flatMap((path) => [
    ...inventions.map((invention, at) => ({
      at: `${path.join('.')} with invention ${at}`,
      body: changed(body, path, (old) =>
        Array.isArray(old)
          ? [...(old as unknown[]), invention]
          : { ...(old as object), invented: invention },
      ),
    })),
    {
      at: `${path.join('.')} with a name`,
      body: changed(body, path, (old) =>
        Array.isArray(old) ? [{ [sentence]: 1 }, ...old] : { ...(old as object), [sentence]: 1 },
      ),
    },
  ]);
}

const isFound = (passages: readonly Passage[]): boolean =>
  passages.some(({ text }) => text.includes(word));
const inRequest = (form: TextsForm, body: JsonObject) =>
  runAtOnce(findRequestPassages(form, body, false)).passages;
const inResponse = (form: ResponseForm, body: JsonObject) =>
  answersIn(form, body).flatMap(({ path, passages }) =>
    passages.map((one) => ({ ...one, path: [...path, ...one.path] })),
  );

/** Positions at which a text is not found, although it must be. */
function unjudged(body: JsonObject, judge: (body: JsonObject) => readonly Passage[]): string[] {
  const replaced = stringPaths(body).flatMap((path) => [
    { at: path.join('.'), body: changed(body, path, () => sentence) },
    ...(isDocumented(path) ? [] : [{ at: path.join('.'), body: changed(body, path, () => word) }]),
  ]);
  return [...replaced, ...inventedBodies(body)]
    .filter((one) => !isFound(judge(one.body)))
    .map(({ at }) => at);
}

/** Positions at which a replaced text stays in the document. */
function unreplaced(body: JsonObject, judge: (body: JsonObject) => readonly Passage[]): string[] {
  const all = stringPaths(body).map((path) => changed(body, path, () => sentence));
  return [...all, ...inventedBodies(body).map((one) => one.body)].flatMap((one) => {
    const passages = judge(one);
    const texts = passages.map(({ text }) => text.replaceAll(word, 'x'));
    const after = JSON.stringify(replaceTexts(one, passages, texts));
    return after.includes(word) || isFound(judge(JSON.parse(after) as JsonObject)) ? [after] : [];
  });
}

const requests = Object.entries(requestBodies) as [TextsForm, JsonObject][];
const responses = Object.entries(responseBodies) as [ResponseForm, JsonObject][];

it('documents every member that is not judged, with its form', () => {
  for (const { about, names } of nonTextMembers) {
    const row = documentedRows.find(([, listed = '']) => listed.includes(`\`${names[0]!}\``));
    expect(row?.[2]).toBe(about);
    expect([...row![1]!.split(';')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(
      names,
    );
  }
});

describe.each(requests)('a request of the format %s', (form, body) => {
  it('is judged at every position, also in members and parts that nobody knows', () => {
    expect(unjudged(body, (one) => inRequest(form, one))).toEqual([]);
  });

  it('is replaced wherever it is judged', () => {
    expect(unreplaced(body, (one) => inRequest(form, one))).toEqual([]);
  });

  it('is judged by default except for earlier messages and system prompts', () => {
    const byDefault = (one: JsonObject): readonly Passage[] => {
      const { passages, lastCount } = runAtOnce(findRequestPassages(form, one, false));
      return lastCount === 0 ? [] : passages.slice(-lastCount);
    };
    const isEarlier = (at: string): boolean =>
      /^(?:system|instructions|additional_instructions|systemInstruction)\b/.test(at) ||
      (form !== 'unknown' && /^(?:messages\.0|input\.[012]|contents\.[01])\b/.test(at));
    expect(unjudged(body, byDefault).filter((at) => !isEarlier(at))).toEqual([]);
  });
});

describe.each(responses)('a response of the format %s', (form, body) => {
  // A list of stored objects has no texts of its own.
  const isJudged = (at: string): boolean => form !== 'stored' || /^data\.\d/.test(at);

  it('is judged at every position, also in members and parts that nobody knows', () => {
    expect(unjudged(body, (one) => inResponse(form, one)).filter(isJudged)).toEqual([]);
  });

  it('is replaced wherever it is judged, and probabilities that repeat it are removed', () => {
    const judged = form === 'stored' ? [] : unreplaced(body, (one) => inResponse(form, one));
    expect(judged).toEqual([]);
    const choices = [{ message: { content: word }, logprobs: { content: [{ token: word }] } }];
    const passages = inResponse('chat_completions', { choices });
    expect(JSON.stringify(replaceTexts({ choices }, passages, ['x']))).not.toContain(word);
  });
});

describe.each(responses)('a stream of the format %s', (form) => {
  const answerTo = (events: readonly object[]) =>
    streamAnswer(
      form,
      Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')),
    );
  const judge = (events: readonly object[]) => inResponse(form, answerTo(events).json);

  it('is judged after its pieces are joined, and replaced in each of them', () => {
    const [first, second] = ['forbidden', '-word'];
    for (const event of pieceEvents[form]) {
      const paths = stringPaths(event).filter(
        (path) => !isDocumented(path) || path.includes('deep'),
      );
      expect(paths).not.toEqual([]);
      for (const path of paths) {
        const events = [first, second].map((piece) => changed(event, path, () => piece));
        const stream = answerTo(events);
        const passages = inResponse(form, stream.json);
        expect([form, path, isFound(passages)]).toEqual([form, path, true]);
        const texts = passages.map(({ text }) => text.replaceAll(word, 'x'));
        expect(stream.rewrite(texts).toString()).not.toMatch(/forbidden|-word/);
      }
    }
  });

  it('is judged at every position of every event', () => {
    for (const event of [...pieceEvents[form], ...wholeEvents[form]] as JsonObject[]) {
      // Objects of a caller and the event's own object are judged elsewhere.
      const isJudged = (at: string): boolean => !/^(?:role|object|type)\b/.test(at);
      expect(unjudged(event, (one) => judge([one])).filter(isJudged)).toEqual([]);
    }
  });
});

describe('an event that repeats a member', () => {
  const event = (delta: string) => `data: {"choices":[{"index":0,"delta":${delta}}]}\n\n`;

  it.each([
    `{"content":"${word}","content":"x"}`,
    `{"content":"${word}", "c\\u006fntent" : "x"}`,
    `{"other":{"a":1,"a":2},"content":"\\":"}`,
  ])('cannot be judged: %s', (delta) => {
    expect(streamAnswer('chat_completions', Buffer.from(event(delta))).isKnown).toBe(false);
  });

  it.each(['{"content":"\\":\\":"}', '{"content":"a","role":"assistant"}'])(
    'is none that repeats it in a text: %s',
    (delta) => {
      expect(streamAnswer('chat_completions', Buffer.from(event(delta))).isKnown).toBe(true);
    },
  );
});

describe('the depth of a judged document', () => {
  const nested = (depth: number): JsonObject => {
    let value: unknown = sentence;
    for (let at = 0; at < depth; at += 1) value = at % 2 === 0 ? [value] : { content: value };
    return { messages: value };
  };

  it('is bounded: a deeper text is an error, not unseen', () => {
    expect(isFound(inRequest('chat_completions', nested(90)))).toBe(true);
    expect(() => inRequest('chat_completions', nested(110))).toThrow(TextsUnreadable);
    const event = `data: ${JSON.stringify({ choices: [{ delta: nested(110) }] })}\n\n`;
    expect(streamAnswer('chat_completions', Buffer.from(event)).isKnown).toBe(false);
  });
});

describe('a text in another form', () => {
  it('is decoded where base64 contains a text, and encoded again when it is replaced', () => {
    const data = Buffer.from(sentence).toString('base64');
    for (const part of [
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
      { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${data}` } },
      { type: 'image_url', image_url: { url: `data:image/svg+xml;base64,${data}` } },
    ]) {
      const body = { messages: [{ role: 'user', content: [part] }] };
      const passages = inRequest('messages', body);
      expect(isFound(passages)).toBe(true);
      const texts = passages.map(({ text }) => text.replaceAll(word, 'x'));
      const after = JSON.stringify(replaceTexts(body, passages, texts));
      expect(after).toContain(Buffer.from('a x here').toString('base64'));
      expect(after).not.toContain(data);
    }
  });

  it.each([
    ['in another script', Buffer.from(`これは ${word} です`)],
    ['with a byte that is no text', Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(sentence)])],
  ])('is found in base64: %s', (_, bytes) => {
    const source = { type: 'base64', media_type: 'text/plain', data: bytes.toString('base64') };
    const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
    expect(isFound(inRequest('messages', { messages }))).toBe(true);
  });

  it.each([
    [
      'a picture',
      Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
    ],
    ['silence', Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(400)])],
    ['a PDF document', Buffer.from('%PDF-1.7\n1 0 obj')],
  ])('is not searched in %s', (_, bytes) => {
    const input_audio = { data: bytes.toString('base64'), format: 'wav' };
    const messages = [{ role: 'user', content: [{ type: 'input_audio', input_audio }] }];
    expect(inRequest('chat_completions', { messages })).toEqual([]);
  });

  const letter = `\\u${word.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const escaped = `${letter}${word.slice(1)}`;

  it.each([
    ['in the first of two members with one name', `{"a":"${word} \\n","a":"x"}`],
    ['in a name that occurs twice', `{"${word}":"\\n","${word}":1}`],
    ['behind a string with escapes', `{"a":"\\n"} ${word}`],
    ['in lines of JSON', `{"a":"x"}\n{"a":"${escaped}"}`],
    ['in JSON with a comma at its end', `{"a":"${escaped}",}`],
    ['in JSON that does not end', `{"a":"${escaped}","b":`],
    ['beside an escape that is not valid', `{"a":"\\x","b":"${escaped}"}`],
    ['in JSON within JSON', JSON.stringify({ a: `{"a":"${escaped}"}` })],
    ['in a name', `{"${escaped}":1}`],
  ])('is found in JSON: %s', (_, content) => {
    const messages = [{ role: 'user', content }];
    const passages = inRequest('chat_completions', { messages });
    expect(isFound(passages)).toBe(true);
    const data = Buffer.from(content).toString('base64');
    const file = { type: 'file', file: { file_data: `data:application/json;base64,${data}` } };
    const inFile = inRequest('chat_completions', { messages: [{ role: 'user', content: [file] }] });
    expect(isFound(inFile)).toBe(true);
  });

  it('keeps every letter of JSON but escapes that nobody needs', () => {
    const content = '{ "n" : 12345678901234567890.10, "a":"\\u0062\\n\\ud800", "a" : [] ,}  x';
    const messages = [{ role: 'user', content }];
    expect(inRequest('chat_completions', { messages }).map(({ text }) => text)).toEqual([
      content.replace('\\u0062', 'b'),
    ]);
  });

  it('is an error where more strings have escapes than can be read, not unseen', () => {
    const messages = [{ role: 'user', content: `["\\n"${'"\\n"'.repeat(100_001)}"${escaped}"` }];
    expect(() => inRequest('chat_completions', { messages })).toThrow(TextsUnreadable);
  });

  const utf16 = (text: string) => Buffer.from(text, 'utf16le');
  it.each([
    ['UTF-16', utf16(`\ufeff${sentence}`)],
    ['UTF-16, high bytes first', utf16(`\ufeff${sentence}`).swap16()],
    ['UTF-16 without a mark', utf16(sentence)],
    ['UTF-16 without a mark, high bytes first', utf16(sentence).swap16()],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${sentence}`)],
  ])('is found in a document in %s, and replaced in the same encoding', (_, bytes) => {
    const data = bytes.toString('base64');
    const source = { type: 'base64', media_type: 'text/plain', data };
    const body = { messages: [{ role: 'user', content: [{ type: 'document', source }] }] };
    const passages = inRequest('messages', body);
    expect(isFound(passages)).toBe(true);
    const texts = passages.map(({ text }) => text.replaceAll(word, 'x'));
    const after = JSON.stringify(replaceTexts(body, passages, texts));
    const isUtf8 = bytes.includes(word);
    const replaced = isUtf8
      ? Buffer.from(bytes.toString('utf8').replaceAll(word, 'x'))
      : utf16(utf16Text(bytes).replaceAll(word, 'x'));
    const isSwapped = !isUtf8 && bytes[0] !== utf16Text(bytes).charCodeAt(0) % 256;
    expect(after).toContain((isSwapped ? replaced.swap16() : replaced).toString('base64'));
  });

  /** Reads UTF-16 in either order. */
  function utf16Text(bytes: Buffer): string {
    const text = bytes.toString('utf16le');
    return text.includes(word) ? text : Buffer.from(bytes).swap16().toString('utf16le');
  }

  it.each<[TextsForm, object]>([
    [
      'messages',
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 't', input: 'set' }] },
        ],
      },
    ],
    [
      'gemini',
      { contents: [{ role: 'model', parts: [{ functionCall: { name: 't', args: 'set' } }] }] },
    ],
    [
      'gemini',
      {
        contents: [{ role: 'user', parts: [{ functionResponse: { name: 't', response: 'set' } }] }],
      },
    ],
    [
      'converse',
      {
        messages: [
          {
            role: 'assistant',
            content: [{ toolUse: { toolUseId: 'c', name: 't', input: 'set' } }],
          },
        ],
      },
    ],
  ])('is judged where it is the name or the number of an argument (%s)', (form, body) => {
    const number = 4_111_111_111_111_111;
    const set = (one: object) =>
      JSON.parse(JSON.stringify(body).replace('"set"', JSON.stringify(one)));
    expect(isFound(inRequest(form, set({ [word]: { deep: [1] } })))).toBe(true);
    const texts = inRequest(form, set({ card: { deep: [number, 12] } })).map(({ text }) => text);
    expect(texts).toContain(String(number));
    expect(texts).not.toContain('12');
  });

  it('is read in the reply of a webhook as in the document', () => {
    const data = Buffer.from('a text').toString('base64');
    const stored = { value: data, encoding: 'base64' } as const;
    expect(decodeText(stored, Buffer.from('another').toString('base64'))).toBe('another');
    const json = { value: '', encoding: 'json' } as const;
    expect(decodeText(json, '{"a":"\\u0062"}')).toBe('{"a":"b"}');
  });

  it('keeps a document that no guardrail changes, byte for byte', () => {
    const body = { arguments: '{"a" : "\\u0062"}', messages: [] };
    const passages = inRequest('chat_completions', body);
    expect(passages.map(({ text }) => text)).toEqual(['{"a" : "b"}']);
    const texts = passages.map(({ text }) => text);
    expect(replaceTexts(body, passages, texts)).toEqual(body);
  });
});

it.each<[TextsForm, object]>([
  ['stored', { requests: Array.from({ length: 5_000 }, () => 'a') }],
  ['stored', { requests: Array.from({ length: 5_000 }, () => ({ params: { system: 'a' } })) }],
  [
    'responses',
    { input: Array.from({ length: 5_000 }, () => ({ type: 'message', content: 'a' })) },
  ],
  ['unknown', { inputs: Array.from({ length: 5_000 }, () => ['a']) }],
])('is interrupted again and again among many texts of the form %s', (form, params) => {
  const work = findRequestPassages(form, params as JsonObject, true);
  let slices = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) slices += 1;
  expect(step.value.passages).toHaveLength(5_000);
  expect(slices).toBeGreaterThanOrEqual(25);
});
