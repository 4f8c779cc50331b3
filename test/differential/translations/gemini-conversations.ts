/** Lists conversations in Gemini's form. */
import geminiCli from '../../support/agents/gemini-cli.json' with { type: 'json' };
import {
  answerSchema,
  type Conversation,
  conversationsOf,
  type Json,
  mapped,
  pdf,
  png,
  prefixed,
  schemas,
} from './conversation.ts';

const text = (value: string): Json => ({ text: value });
const user = (...parts: readonly Json[]): Json => ({ role: 'user', parts });
const model = (...parts: readonly Json[]): Json => ({ role: 'model', parts });
const hello = user(text('Hello'));
const usual = { contents: [hello], generationConfig: { maxOutputTokens: 512 } };
const config = (more: Json): Json => ({ generationConfig: { maxOutputTokens: 512, ...more } });
const declared = (...functionDeclarations: readonly Json[]): Json => ({
  tools: [{ functionDeclarations }],
});
const tool = (parametersJsonSchema: unknown): Json => ({
  name: 'weather',
  description: 'Reads the weather',
  parametersJsonSchema,
});
const plain = tool(schemas['one text']);
const search = { name: 'search', parametersJsonSchema: schemas['one text'] };
const choice = (mode: string, more: Json = {}): Json => ({
  toolConfig: { functionCallingConfig: { mode, ...more } },
});
const call = (id: string, args: Json, name = 'weather'): Json => ({
  functionCall: { id, name, args },
});
const result = (id: string, response: Json, name = 'weather'): Json => ({
  functionResponse: { id, name, response },
});
const bern = { city: 'Bern' };
const data = (mimeType: string, bytes: string): Json => ({
  inlineData: { mimeType, data: bytes },
});

const turns = {
  'a question': {},
  'a system prompt': { systemInstruction: { parts: [text('Be brief')] } },
  'a system prompt in parts': {
    systemInstruction: { parts: [text('Be brief'), text('Be kind')] },
  },
  'an earlier answer': { contents: [hello, model(text('Hi')), user(text('And?'))] },
  'a question in parts': { contents: [user(text('One'), text('Two'))] },
  'two questions in turn': { contents: [user(text('One')), user(text('Two'))] },
  'a question without a role': { contents: [{ parts: [text('Hello')] }] },
  'a picture': { contents: [user(text('Look'), data('image/png', png))] },
  'a document': { contents: [user(text('Read'), data('application/pdf', pdf))] },
};

const tools = {
  ...mapped(prefixed('a tool with ', schemas), (schema) => declared(tool(schema))),
  'a tool in types of Google': declared({
    name: 'weather',
    parameters: {
      type: 'OBJECT',
      properties: { city: { type: 'STRING', nullable: true } },
      required: ['city'],
    },
  }),
  'two tools': declared(plain, search),
  'a choice by the model': { ...declared(plain), ...choice('AUTO') },
  'any tool to choose': { ...declared(plain), ...choice('ANY') },
  'no tool to choose': { ...declared(plain), ...choice('NONE') },
  'one tool to choose': {
    ...declared(plain, search),
    ...choice('ANY', { allowedFunctionNames: ['search'] }),
  },
  'a call and its result': {
    ...declared(plain),
    contents: [hello, model(call('call_1', bern)), user(result('call_1', { output: 'Sun' }))],
  },
  'a call with a text': {
    ...declared(plain),
    contents: [
      hello,
      model(text('I look'), call('call_1', bern)),
      user(result('call_1', { output: 'Sun' })),
    ],
  },
  'two calls at once': {
    ...declared(plain, search),
    contents: [
      hello,
      model(call('call_1', bern), call('call_2', bern, 'search')),
      user(result('call_1', { output: 'Sun' }), result('call_2', { found: [1] }, 'search')),
    ],
  },
  'calls without ids': {
    ...declared(plain),
    contents: [
      hello,
      model({ functionCall: { name: 'weather', args: bern } }),
      user({ functionResponse: { name: 'weather', response: { output: 'Sun' } } }),
    ],
  },
};

const settings = {
  'a temperature': config({ temperature: 0.3 }),
  'a nucleus': config({ topP: 0.4 }),
  'a number of candidates': config({ topK: 5 }),
  stops: config({ stopSequences: ['END', 'STOP'] }),
  'no limit of the output': { generationConfig: undefined },
  'a seed': config({ seed: 7 }),
  'a schema of the answer': config({
    responseMimeType: 'application/json',
    responseJsonSchema: answerSchema,
  }),
  'any JSON as answer': config({ responseMimeType: 'application/json' }),
};

const reasoning = {
  'a budget for thinking': {
    generationConfig: { maxOutputTokens: 64_000, thinkingConfig: { thinkingBudget: 10_000 } },
  },
  'no thinking': {
    generationConfig: { maxOutputTokens: 64_000, thinkingConfig: { thinkingBudget: 0 } },
  },
  'a level of thinking': {
    generationConfig: { maxOutputTokens: 64_000, thinkingConfig: { thinkingLevel: 'low' } },
  },
};

export const geminiConversations: readonly Conversation[] = [
  ...conversationsOf('gemini', usual, { ...turns, ...tools, ...settings }),
  ...conversationsOf('gemini', usual, reasoning, true),
  ...conversationsOf('gemini', {}, { 'recorded: Gemini CLI': geminiCli.body }, true),
];
