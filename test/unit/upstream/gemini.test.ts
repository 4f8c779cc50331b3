/** Verifies the translation between chats and Gemini's format: round trips, hints and refusals. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/upstream/documents/document-node.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { withUsualNames } from '../../../src/upstream/gemini/member-names.ts';
import type { Translation } from '../../../src/upstream/translation/translation.ts';

const toGemini = translationFor('/chat/completions', 'gemini')!;
const toChat = translationFor('/v1beta/models:generateContent', 'openai')!;
const about = { now: 1_000, wantsUsage: true };

function request(translation: Translation, body: Json, more: object = {}) {
  const terms = { service: 'openai', unsupported: null, dropped: [] as string[], ...more };
  return { body: translation.request(body, terms), dropped: terms.dropped };
}

const text = fc.string({ minLength: 1, unit: 'grapheme' });
const name = fc.constantFrom('weather', 'search');
const args = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(text, fc.integer(), fc.boolean()));
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

/** A turn of a caller, and an answer with or without calls and their results. */
const turn = fc.record({
  question: fc.oneof(
    text,
    fc.constant([{ type: 'text', text: 'see' }, picture]),
    fc.constant([picture, { type: 'text', text: 'and' }, picture]),
  ),
  answer: text,
  calls: fc.array(fc.record({ name, args, result: text }), { maxLength: 3 }),
});

function conversationOf(turns: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]) {
  return turns.flatMap(({ question, answer, calls }, at) => {
    const tool_calls = calls.map((call, index) => ({
      id: `call_${at}_${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    }));
    const results = calls.map(({ result }, index) => ({
      role: 'tool',
      tool_call_id: `call_${at}_${index}`,
      content: result,
    }));
    const called = { role: 'assistant', content: null, tool_calls };
    return [
      { role: 'user', content: question },
      ...(calls.length === 0 ? [] : [called, ...results]),
      { role: 'assistant', content: answer },
    ];
  });
}

describe('a chat at Gemini and back', () => {
  it('keeps every message, call and result', () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), (turns) => {
        const messages = [{ role: 'system', content: 'be brief' }, ...conversationOf(turns)];
        const gemini = request(toGemini, { model: 'gemini-2.5-pro', messages });
        const back = request(toChat, { ...gemini.body, model: 'm' });
        const normal = (list: unknown): unknown =>
          JSON.parse(JSON.stringify(list), (key, value) =>
            key === 'arguments' ? JSON.parse(value as string) : value,
          );
        // A result in JSON keeps its value, not its blanks.
        const value = (list: unknown): unknown => normal(list);
        const sent = value(messages) as { role: string; content: unknown }[];
        const received = value(back.body.messages) as { role: string; content: unknown }[];
        expect(received.map((one) => (one.role === 'tool' ? { ...one, content: 0 } : one))).toEqual(
          sent.map((one) => (one.role === 'tool' ? { ...one, content: 0 } : one)),
        );
        const results = (list: typeof sent) =>
          list
            .filter(({ role }) => role === 'tool')
            .map(({ content }) => parsed(content as string));
        expect(results(received)).toEqual(results(sent));
        expect([...gemini.dropped, ...back.dropped]).toEqual([]);
      }),
    );
  });

  it('keeps settings, tools and the form of the output', () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Rome'] } },
      required: ['city'],
    };
    const chat = {
      model: 'gemini-3-pro-preview',
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      n: 2,
      stop: ['a', 'b'],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      logprobs: true,
      top_logprobs: 3,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
      tool_choice: 'required',
      response_format: { type: 'json_schema', json_schema: { name: 'response', schema } },
      stream: true,
    };
    const { body } = request(toGemini, chat);
    expect(body.generationConfig).toMatchObject({
      thinkingConfig: { thinkingLevel: 'LOW' },
      candidateCount: 2,
    });
    const back = request(toChat, { ...body, model: chat.model, stream: true });
    expect(back.body).toEqual({ ...chat, stream_options: { include_usage: true } });
  });

  it('returns signatures of Google to the parts that had them', () => {
    const parts = [
      { text: 'a thought', thought: true, thoughtSignature: 'AAA=' },
      { text: 'a text', thoughtSignature: 'BBB=' },
      { functionCall: { id: 'c', name: 'f', args: {} }, thoughtSignature: 'CCC=' },
    ];
    const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] };
    const completion = toGemini.response(answer, about) as {
      choices: { message: Json; finish_reason: string }[];
    };
    const { message, finish_reason } = completion.choices[0]!;
    expect(finish_reason).toBe('tool_calls');
    const { body, dropped } = request(toGemini, { model: 'm', messages: [message] });
    expect(body.contents).toEqual([{ role: 'model', parts }]);
    expect(dropped).toEqual([]);
    const again = toChat.response(completion, about) as { candidates: { content: Json }[] };
    expect(again.candidates[0]!.content).toEqual({ role: 'model', parts });
  });

  it('returns signatures of other families through a client of Google', () => {
    const detail = {
      type: 'reasoning.text',
      text: 't',
      signature: 's',
      format: 'anthropic-claude-v1',
      index: 0,
    };
    const message = {
      role: 'assistant',
      content: 'a',
      reasoning_content: 't',
      reasoning_details: [detail],
    };
    const answer = toChat.response({ choices: [{ message, finish_reason: 'stop' }] }, about);
    const [{ content }] = answer.candidates as [{ content: Json }];
    const sentBack = { model: 'm', contents: [content] };
    const { reasoning_content: _text, ...returned } = message;
    const { body } = request(toChat, sentBack, { service: 'openrouter' });
    expect(body.messages).toEqual([returned]);
    const plain = request(toChat, sentBack);
    expect(plain.body.messages).toEqual([{ role: 'assistant', content: 'a' }]);
    expect(plain.dropped).toEqual(['contents[].parts[thought]']);
    const google = request(toGemini, { model: 'm', messages: [message] });
    expect(google.dropped).toEqual(['messages[].reasoning_details[]']);
  });
});

function parsed(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return content;
  }
}

describe('a member without a counterpart', () => {
  const messages = [{ role: 'user', content: 'hello' }];
  const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];

  it.each([
    [toGemini, { model: 'm', messages, logit_bias: { a: 1 } }, 'logit_bias'],
    [toGemini, { model: 'm', messages, tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [
      toGemini,
      { model: 'm', messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] },
      'messages[0].tool_call_id',
    ],
    [toGemini, { model: 'm', messages, unheard: 1 }, 'unheard'],
    [toChat, { model: 'm', contents, cachedContent: 'cachedContents/a' }, 'cachedContent'],
    [toChat, { model: 'm', contents, tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    [
      toChat,
      { model: 'm', contents, generationConfig: { responseModalities: ['IMAGE'] } },
      'generationConfig.responseModalities',
    ],
    [
      toChat,
      { model: 'm', contents: [{ parts: [{ videoMetadata: {}, text: 'a' }] }] },
      'contents[0].parts[0].videoMetadata',
    ],
  ] as const)('is refused with its path (%#)', (translation, body, path) => {
    expect(() => request(translation, body)).toThrow(expect.objectContaining({ path }));
  });

  it('is left out and named where it is a hint', () => {
    const config = { topK: 3, mediaResolution: 'LOW' };
    const gemini = {
      model: 'm',
      contents,
      safetySettings: [],
      labels: {},
      generationConfig: config,
    };
    expect(request(toChat, gemini).dropped).toEqual([
      'safetySettings',
      'labels',
      'generationConfig.mediaResolution',
      'generationConfig.topK',
    ]);
    const parameters = {
      type: 'object',
      properties: { a: { type: 'string', pattern: 'x', const: 'y' } },
    };
    const tools = [{ type: 'function', function: { name: 'f', parameters, strict: true } }];
    const { body, dropped } = request(toGemini, { model: 'm', messages, tools, user: 'u' });
    expect(dropped).toEqual([
      'user',
      'tools[].function.strict',
      'tools[].function.parameters.properties.a.pattern',
    ]);
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            parametersJsonSchema: {
              type: 'object',
              properties: { a: { type: 'string', enum: ['y'] } },
            },
          },
        ],
      },
    ]);
  });
});

describe('a request of a Google client', () => {
  it('matches results to calls without ids by name and order', () => {
    const call = (city: string) => ({ functionCall: { name: 'f', args: { city } } });
    const result = (output: string) => ({ functionResponse: { name: 'f', response: { output } } });
    const contents = [
      { role: 'model', parts: [call('Rome'), call('Oslo')] },
      { role: 'user', parts: [result('1'), result('2'), { text: 'and now?' }] },
    ];
    const { messages } = request(toChat, { model: 'm', contents }).body as { messages: Json[] };
    const ids = (messages[0]!.tool_calls as Json[]).map(({ id }) => id);
    expect(messages.slice(1)).toEqual([
      { role: 'tool', tool_call_id: ids[0], content: '1' },
      { role: 'tool', tool_call_id: ids[1], content: '2' },
      { role: 'user', content: 'and now?' },
    ]);
  });

  it('leaves out functions that it does not allow', () => {
    const functionDeclarations = ['a', 'b'].map((one) => ({
      name: one,
      parameters: {
        type: 'OBJECT',
        properties: { x: { type: 'STRING', nullable: true, maxLength: '5' } },
      },
    }));
    const toolConfig = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b'] } };
    const contents = [{ parts: [{ text: 'hello' }] }];
    const { body } = request(toChat, {
      model: 'm',
      contents,
      tools: [{ functionDeclarations }],
      toolConfig,
    });
    expect(body).toMatchObject({
      tool_choice: 'required',
      tools: [
        {
          function: {
            name: 'b',
            parameters: {
              type: 'object',
              properties: { x: { type: ['string', 'null'], maxLength: 5 } },
            },
          },
        },
      ],
    });
    expect(body.tools).toHaveLength(1);
  });

  it('has one spelling of each member, and keeps the names that it chose itself', () => {
    const body = {
      system_instruction: { parts: [{ text: 'a' }] },
      contents: [{ parts: [{ function_call: { name: 'f', args: { my_name: 1 } } }] }],
      tools: [{ function_declarations: [{ name: 'f', parameters: { properties: { a_b: {} } } }] }],
      labels: { my_label: 'x' },
    };
    expect(withUsualNames(body)).toEqual({
      systemInstruction: { parts: [{ text: 'a' }] },
      contents: [{ parts: [{ functionCall: { name: 'f', args: { my_name: 1 } } }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { properties: { a_b: {} } } }] }],
      labels: { my_label: 'x' },
    });
    const usual = { contents: [], generationConfig: {} };
    expect(withUsualNames(usual)).toBe(usual);
  });
});
