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
    const { request, dropped } = translated('/responses', dialect, body, 'drop');
    expect(dropped).toContain('client_metadata');
    expect(dropped.includes('tools[web_search]')).toBe(hasSearch);
    const names = request.tools.map((tool) => tool.function?.name ?? tool.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(5);
  });

  it('is rejected only for a search that the provider would run', () => {
    const translate = () => translated('/responses', 'openai', body);
    if (hasSearch) expect(translate).toThrow(/^tools\[\d+\]\.type has no counterpart/);
    else expect(translate).not.toThrow();
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
