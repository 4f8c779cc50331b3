/** Starts an MCP server of the modern era only (SDK v2): no sessions, and questions as `input_required`. */
import { randomBytes } from 'node:crypto';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  completable,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  type GetPromptResult,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type JsonSchemaType,
  type McpHttpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  completionsOf,
  type FixturePrompt,
  fixturePrompts,
  fixtureResources,
  fixtureTemplate,
  templateContent,
} from './fixture-contents.ts';
import {
  type Answers,
  askingPrompt,
  type Dialogue,
  fixtureDialogues,
  type Question,
  roundsOf,
} from './fixture-dialogues.ts';
import { hostFixture, type McpFixture } from './fixture-host.ts';
import { type FixtureCall, type FixtureTool, fixtureTools } from './fixture-tools.ts';

/** The answers of the client so far. */
interface State {
  readonly answers: Answers;
}

/** Starts the server; each request has a server of its own, as the SDK requires. */
export async function startModernFixture(): Promise<McpFixture> {
  const codec = createRequestStateCodec<State>({ key: randomBytes(32) });
  const handler = createMcpHandler(() => serverOf(codec, handler.notify), { legacy: 'reject' });
  const answer = toNodeHandler(handler);
  return await hostFixture(answer, () => handler.close());
}

type Codec = ReturnType<typeof createRequestStateCodec<State>>;

function serverOf(codec: Codec, notify: McpHttpHandler['notify']): McpServer {
  const server = new McpServer(
    { name: 'modern-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      },
      instructions: 'A fixture of the modern era.',
      // A public list is what a gateway must not pass on where callers see different tools.
      cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'public' } },
      requestState: { verify: codec.verify },
    },
  );
  for (const tool of fixtureTools) addTool(server, tool, notify);
  for (const dialogue of fixtureDialogues) addDialogue(server, dialogue, codec);
  for (const prompt of fixturePrompts) addPrompt(server, prompt);
  addAskingPrompt(server, codec);
  addResources(server);
  return server;
}

function addTool(server: McpServer, tool: FixtureTool, notify: McpHttpHandler['notify']): void {
  const { name, description, inputSchema, outputSchema } = tool;
  server.registerTool(
    name,
    {
      description,
      inputSchema: fromJsonSchema<Record<string, unknown>>(inputSchema as JsonSchemaType),
      ...(outputSchema === undefined
        ? {}
        : { outputSchema: fromJsonSchema(outputSchema as JsonSchemaType) }),
    },
    async (values, context) => (await tool.run(callOf(values, context, notify))) as CallToolResult,
  );
}

function callOf(
  values: Readonly<Record<string, unknown>>,
  { mcpReq }: ServerContext,
  notify: McpHttpHandler['notify'],
): FixtureCall {
  const progressToken = mcpReq._meta?.progressToken;
  return {
    arguments: values,
    progress: async (progress, total) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, total };
      await mcpReq.notify({ method: 'notifications/progress', params });
    },
    log: (data) => mcpReq.log('info', data, 'fixture'),
    listChanged: (list) => notify[`${list}Changed`](),
    resourceUpdated: (uri) => notify.resourceUpdated(uri),
    closeStream: () => undefined,
  };
}

function addDialogue(server: McpServer, dialogue: Dialogue, codec: Codec): void {
  const { name, description, inputSchema } = dialogue;
  server.registerTool(
    name,
    {
      description,
      inputSchema: fromJsonSchema<Record<string, unknown>>(inputSchema as JsonSchemaType),
    },
    async (values, context) => {
      const answer = await hold(dialogue, values, context, codec);
      if (typeof answer !== 'string') return answer;
      return { content: [{ type: 'text', text: answer }] };
    },
  );
}

function addPrompt(server: McpServer, { name, description, ...prompt }: FixturePrompt): void {
  const read = (values: Readonly<Record<string, string>>): GetPromptResult =>
    ({ description, messages: prompt.messages(values) }) as GetPromptResult;
  const names = Object.entries(prompt.arguments);
  if (names.length === 0) {
    server.registerPrompt(name, { description }, () => read({}));
    return;
  }
  const argsSchema = z.object(
    Object.fromEntries(
      names.map(([argument, text]) => [
        argument,
        completable(z.string().describe(text), (value) => completionsOf(value ?? '')),
      ]),
    ),
  );
  server.registerPrompt(name, { description, argsSchema }, (values) => read(values));
}

function addAskingPrompt(server: McpServer, codec: Codec): void {
  const { name, description } = askingPrompt;
  server.registerPrompt(name, { description }, async (context) => {
    const answer = await hold(askingPrompt, {}, context, codec);
    if (typeof answer !== 'string') return answer;
    return { messages: [{ role: 'user', content: { type: 'text', text: answer } }] };
  });
}

function addResources(server: McpServer): void {
  for (const { name, uri, description, mimeType, content } of fixtureResources) {
    server.registerResource(
      name,
      uri,
      { description, mimeType },
      () => ({ contents: [content] }) as ReadResourceResult,
    );
  }
  const { name, uriTemplate, description, mimeType } = fixtureTemplate;
  const template = new ResourceTemplate(uriTemplate, { list: undefined });
  server.registerResource(name, template, { description, mimeType }, ({ href }) => {
    const content = templateContent(href);
    if (content !== null) return { contents: [content] } as ReadResourceResult;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri: href });
  });
}

/** The text of the result, or the questions of the first round that is not answered completely. */
async function hold(
  dialogue: Dialogue,
  values: Readonly<Record<string, unknown>>,
  context: ServerContext,
  codec: Codec,
): Promise<string | InputRequiredResult> {
  const { mcpReq } = context;
  const envelope = mcpReq.envelope as Readonly<Record<string, object>> | undefined;
  const rounds = roundsOf(dialogue, values, { ...envelope?.[CLIENT_CAPABILITIES_META_KEY] });
  const state = dialogue.usesState === true ? mcpReq.requestState<State>() : { answers: {} };
  // Answers without the state that belongs to them count for nothing.
  const given = state === undefined ? {} : mcpReq.inputResponses;
  const answers: Record<string, unknown> = { ...state?.answers };
  for (const [key, question] of rounds.flatMap((questions) => Object.entries(questions))) {
    if (isAnswer(given, key, question)) answers[key] = given?.[key];
  }
  const open = rounds
    .map((questions) => Object.entries(questions).filter(([key]) => answers[key] === undefined))
    .find((questions) => questions.length > 0);
  if (open === undefined) return dialogue.finish(answers);
  const inputRequests = Object.fromEntries(open) as unknown as InputRequests;
  if (dialogue.usesState !== true) return inputRequired({ inputRequests });
  return inputRequired({ inputRequests, requestState: await codec.mint({ answers }, context) });
}

const answerKinds = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const satisfies Record<Question['method'], string>;

/** Whether the client has answered a question, and with the kind of result that was asked for. */
function isAnswer(
  given: Readonly<Record<string, unknown>> | undefined,
  key: string,
  { method }: Question,
): boolean {
  return inputResponse(given, key).kind === answerKinds[method];
}
