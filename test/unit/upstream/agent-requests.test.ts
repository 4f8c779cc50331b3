/** Checks that the requests which coding agents send by default reach providers of every other format. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';

type Body = Readonly<Record<string, unknown>>;
/** The parts of a translated request that these tests read. */
interface RequestParts {
  readonly reasoning_effort?: string;
  readonly max_completion_tokens?: number;
  readonly tools: readonly { readonly name: string; readonly function?: ChatFunction }[];
  readonly messages: readonly {
    readonly role: string;
    readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
  }[];
}

interface ChatFunction {
  readonly name: string;
  readonly description: string;
  readonly parameters: { readonly properties: object };
}

type UnsupportedSetting = 'drop' | 'refuse' | null;

function recorded(name: string): Body {
  const path = resolve(import.meta.dirname, '../../support/agents', `${name}.json`);
  return JSON.parse(readFileSync(path, 'utf8')).body;
}

function translated(
  path: string,
  dialect: 'openai' | 'anthropic',
  body: Body,
  unsupported: UnsupportedSetting = null,
) {
  const dropped: string[] = [];
  const translation = translationFor(path, dialect, false)!;
  const request = translation.request(body, { service: dialect, unsupported, dropped });
  return { request: request as unknown as RequestParts, dropped };
}

describe('a request of Claude Code', () => {
  const body = recorded('claude-code');

  it('reaches a chat with the effort of its budget, and hints are named', () => {
    const { request, dropped } = translated('/messages', 'openai', body);
    expect(request.reasoning_effort).toBe('high');
    expect(request.tools).toHaveLength((body.tools as unknown[]).length);
    expect(request.max_completion_tokens).toBe(32_000);
    expect(dropped.toSorted()).toEqual([
      'context_management',
      'messages[].content[].cache_control',
      'system[].cache_control',
      'tools[].defer_loading',
    ]);
  });

  it('is rejected where the config refuses hints', () => {
    expect(() => translated('/messages', 'openai', body, 'refuse')).toThrow('context_management');
  });

  it('keeps cache marks for a service that takes them', () => {
    const dropped: string[] = [];
    const terms = { service: 'openrouter', unsupported: null, dropped };
    const request = translationFor('/messages', 'openai')!.request(body, terms);
    expect(JSON.stringify(request).split('"cache_control"')).toHaveLength(4);
    expect(dropped).not.toContain('system[].cache_control');
  });

  it('omits the effort for a model that does not reason', () => {
    const { request, dropped } = translated('/messages', 'openai', { ...body, model: 'gpt-4o' });
    expect(request).not.toHaveProperty('reasoning_effort');
    expect(dropped).toContain('thinking');
  });
});

describe.each(['codex', 'codex-namespace', 'codex-tools-in-input'])('a request of %s', (name) => {
  const body = recorded(name);
  const hasSearch = JSON.stringify(body.tools ?? []).includes('"web_search"');

  it.each(['openai', 'anthropic'] as const)('reaches a provider of the format of %s', (dialect) => {
    const { request, dropped } = translated('/responses', dialect, body);
    expect(dropped).toContain('client_metadata');
    expect(dropped.includes('tools[web_search]')).toBe(hasSearch);
    const names = request.tools.map((tool) => tool.function?.name ?? tool.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(5);
  });

  it('is rejected where the config refuses hints', () => {
    const translate = () => translated('/responses', 'openai', body, 'refuse');
    expect(translate).toThrow('unsupported: refuse');
  });
});

describe('a tool that the provider would run', () => {
  const [own, search] = [{ type: 'function', name: 'f' }, { type: 'web_search' }];
  const responses = { model: 'm', input: 'Hello' };
  const messages = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
  const claude = { type: 'web_search_20250305', name: 'web_search' };
  const custom = { name: 'f', input_schema: { type: 'object' } };
  const gemini = { model: 'm', contents: [{ parts: [{ text: 'Hello' }] }] };
  const functionDeclarations = [{ name: 'f' }];
  const calling = (mode: string) => ({ toolConfig: { functionCallingConfig: { mode } } });
  const geminiPath = '/v1beta/models:generateContent';

  it.each<[string, Body, string]>([
    ['/responses', { ...responses, tools: [own, search] }, 'tools[web_search]'],
    [
      '/responses',
      { ...responses, tools: [search, own], tool_choice: 'auto' },
      'tools[web_search]',
    ],
    ['/messages', { ...messages, tools: [claude, custom] }, 'tools[web_search_20250305]'],
    [
      '/messages',
      { ...messages, tools: [custom, claude], tool_choice: { type: 'none' } },
      'tools[web_search_20250305]',
    ],
    [
      geminiPath,
      { ...gemini, tools: [{ googleSearch: {} }, { functionDeclarations }] },
      'tools[].googleSearch',
    ],
  ])('is left out and named beside tools of the caller, %s, %j', (path, body, name) => {
    const { request, dropped } = translated(path, 'openai', body);
    expect(request.tools).toHaveLength(1);
    expect(dropped).toEqual([name]);
  });

  it.each<[string, Body]>([
    ['/responses', { ...responses, tools: [search] }],
    ['/responses', { ...responses, tools: [search, own], tool_choice: 'required' }],
    ['/responses', { ...responses, tools: [own, search], tool_choice: { type: 'web_search' } }],
    ['/responses', { ...responses, tools: [own, { type: 'file_search' }] }],
    ['/messages', { ...messages, tools: [claude] }],
    ['/messages', { ...messages, tools: [claude, custom], tool_choice: { type: 'any' } }],
    ['/messages', { ...messages, tools: [custom, { type: 'code_execution_20250825' }] }],
    [geminiPath, { ...gemini, tools: [{ googleSearch: {} }] }],
    [
      geminiPath,
      { ...gemini, tools: [{ googleSearch: {}, functionDeclarations }], ...calling('ANY') },
    ],
  ])('is refused where the model must use it or has no other, %s, %j', (path, body) => {
    expect(() => translated(path, 'openai', body)).toThrow(/^tools?(?:\[|_choice)/);
  });
});

describe('an earlier search of Anthropic', () => {
  it('is left out and named, because the text says what it found', () => {
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'text', text: 'found' },
    ];
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'assistant', content }] };
    const { request, dropped } = translated('/messages', 'openai', body);
    expect(request.messages).toEqual([{ role: 'assistant', content: 'found' }]);
    expect(dropped).toEqual([
      'messages[].content[].type',
      'messages[].content[web_search_tool_result]',
    ]);
  });
});

describe('a custom tool', () => {
  it('becomes a function with one text, whose grammar is described', () => {
    const { request, dropped } = translated('/responses', 'openai', recorded('codex'), 'drop');
    const functions = request.tools.map((tool) => tool.function!);
    const patch = functions.find((one) => one.name === 'apply_patch')!;
    expect(patch.parameters.properties).toHaveProperty('input');
    expect(patch.description).toContain('lark grammar');
    expect(dropped).toContain('tools[].format');
    const { messages } = request;
    const [call] = messages.find(({ tool_calls: calls }) => calls !== undefined)!.tool_calls!;
    expect(JSON.parse(call!.function.arguments).input).toMatch(/^\*\*\* Begin Patch/);
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(2);
  });
});

describe.each(['opencode-chat', 'opencode-messages'])('a request of %s', (name) => {
  it('reaches a provider of another format', () => {
    const isChat = name === 'opencode-chat';
    const path = isChat ? '/chat/completions' : '/messages';
    const { request } = translated(path, isChat ? 'anthropic' : 'openai', recorded(name));
    expect(request.messages).toBeInstanceOf(Array);
  });
});

describe('an older form of the output format', () => {
  it('reaches a chat as a response format', () => {
    const schema = { type: 'object', properties: {} };
    const body = {
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
      output_format: { type: 'json_schema', schema },
    };
    const { request, dropped } = translated('/messages', 'openai', body);
    expect(request).toMatchObject({ response_format: { json_schema: { schema } } });
    expect(dropped).toEqual([]);
  });
});
