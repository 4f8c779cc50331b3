/** Tests that the MCP fixtures of both eras have the same offers, ask the same questions, and refuse the other era. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type McpEra, mcpEras } from '../support/mcp/eras.ts';
import { fixtureDialogues } from '../support/mcp/fixture-dialogues.ts';
import type { McpFixture } from '../support/mcp/fixture-host.ts';

const stack = new AsyncDisposableStack();
const modes = { legacy: 'legacy', modern: { pin: '2026-07-28' }, either: 'auto' } as const;
const fixtures = {} as Record<McpEra['name'], McpFixture>;

beforeAll(async () => {
  for (const { name, start } of mcpEras) fixtures[name] = stack.use(await start());
});

afterAll(() => stack.disposeAsync());

/** A client of one era or of both, which answers every question. */
async function connect(
  era: keyof typeof modes,
  fixture: McpFixture,
): Promise<ModernClient & AsyncDisposable> {
  const client = new ModernClient(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: modes[era] },
    },
  );
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { name: 'Ada', color: 'green', ok: true, context: 'a test' },
  }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
    model: 'test',
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///root' }] }));
  await client.connect(new ModernTransport(new URL(fixture.url)));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function bothEras<T>(read: (client: ModernClient) => Promise<T>): Promise<[T, T]> {
  await using legacy = await connect('legacy', fixtures.legacy);
  await using modern = await connect('modern', fixtures.modern);
  return [await read(legacy), await read(modern)];
}

describe('each fixture', () => {
  it('lists the same tools, prompts, resources and templates as the other', async () => {
    const [legacy, modern] = await bothEras(async (client) => {
      const { tools } = await client.listTools();
      const { prompts } = await client.listPrompts();
      const { resources } = await client.listResources();
      const { resourceTemplates } = await client.listResourceTemplates();
      return {
        tools: tools.map(({ name, description, inputSchema, outputSchema }) => [
          name,
          description,
          inputSchema,
          outputSchema,
        ]),
        prompts: prompts.map(({ name, description, arguments: list = [] }) => [
          name,
          description,
          list,
        ]),
        resources: resources.map(({ name, uri, mimeType }) => [name, uri, mimeType]),
        templates: resourceTemplates.map(({ name, uriTemplate }) => [name, uriTemplate]),
      };
    });
    expect(modern).toEqual(legacy);
    expect(legacy.tools.length).toBeGreaterThan(fixtureDialogues.length);
  });

  it('asks the same questions as the other, and returns the same answers', async () => {
    const [legacy, modern] = await bothEras(async (client) => {
      const results: Record<string, unknown> = {};
      for (const { name } of fixtureDialogues) {
        const values = { message: 'Who?', prompt: 'What?' };
        results[name] = await client
          .callTool({ name, arguments: values })
          .then(({ content, isError = false }) => ({ content, isError }));
      }
      const { messages } = await client.getPrompt({ name: 'test_input_required_result_prompt' });
      return { results, messages };
    });
    expect(modern).toEqual(legacy);
    expect(JSON.stringify(legacy)).not.toContain('no answer');
  });

  it.each([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)(
    'refuses clients of the other era: a %s client at the %s server',
    async (client, server) => {
      await expect(connect(client, fixtures[server])).rejects.toThrow();
    },
  );

  it.each(mcpEras)('lets a client of both eras find the $name era', async ({ name }) => {
    await using client = await connect('either', fixtures[name]);
    expect(client.getProtocolEra()).toBe(name);
  });

  it('keeps a journal of the methods that reach it', async () => {
    const before = fixtures.legacy.journal.length;
    await using client = await connect('legacy', fixtures.legacy);
    await client.callTool({ name: 'test_simple_text' });
    const methods = fixtures.legacy.journal
      .slice(before)
      .map(({ body }) => (body as { method?: string } | null)?.method);
    expect(methods).toEqual(
      expect.arrayContaining(['initialize', 'notifications/initialized', 'tools/call']),
    );
  });
});
