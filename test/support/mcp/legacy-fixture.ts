/** Starts an MCP server of the legacy era only (SDK v1): sessions, and questions sent as requests. */
import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  isInitializeRequest,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { EventLog } from './event-log.ts';
import {
  completionsOf,
  fixturePrompts,
  fixtureResources,
  fixtureTemplate,
  templateContent,
} from './fixture-contents.ts';
import {
  type Answers,
  askingPrompt,
  capabilityOf,
  type Dialogue,
  fixtureDialogues,
  type Question,
  roundsOf,
} from './fixture-dialogues.ts';
import { hostFixture, type McpFixture, refuse } from './fixture-host.ts';
import { type FixtureCall, type FixtureList, fixtureTools } from './fixture-tools.ts';
import { NamedQuestions } from './named-questions.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Time between the end of a stream and the client's next attempt. */
const retryMs = 100;
/** Code of the legacy era for a resource that does not exist. */
const resourceNotFound = -32002;

/** Starts the server; each session has a server of its own, as the SDK requires. */
export async function startLegacyFixture(): Promise<McpFixture> {
  const sessions = new Map<string, Session>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const session = new Session(sessions);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id),
      eventStore: new EventLog(),
      retryInterval: retryMs,
    });
    await session.connect(transport);
    return transport;
  };
  return await hostFixture(
    async (request, response, body) => {
      const id = request.headers['mcp-session-id'];
      const known = sessions.get(String(id))?.transport;
      if (known !== undefined) return await known.handleRequest(request, response, body);
      if (id !== undefined) return refuse(response, 404, -32001, 'Session not found');
      if (!isInitializeRequest(body)) {
        return refuse(response, 400, -32000, 'Bad Request: no session; send initialize first');
      }
      await (await open()).handleRequest(request, response, body);
    },
    async () => {
      for (const session of sessions.values()) await session.close();
    },
  );
}

/** The server of one session. */
class Session {
  readonly #sessions: ReadonlyMap<string, Session>;
  readonly #subscriptions = new Set<string>();
  readonly #server = new Server(
    { name: 'legacy-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      },
      instructions: 'A fixture of the legacy era.',
    },
  );
  /** Requests to the client have the keys of the questions as ids, which the modern era uses as keys too. */
  #questions: NamedQuestions | undefined;
  transport: StreamableHTTPServerTransport | undefined;

  constructor(sessions: ReadonlyMap<string, Session>) {
    this.#sessions = sessions;
    this.#serveTools();
    this.#servePrompts();
    this.#serveResources();
  }

  async connect(transport: StreamableHTTPServerTransport): Promise<void> {
    this.transport = transport;
    // The SDK's own type lacks the optional members of the interface.
    await this.#server.connect(transport as Transport);
    this.#questions = new NamedQuestions(transport as Transport);
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  #serveTools(): void {
    this.#server.setRequestHandler(ListToolsRequestSchema, () =>
      result({
        tools: [...fixtureTools, ...fixtureDialogues].map(
          ({ name, description, inputSchema, ...tool }) => ({
            name,
            description,
            inputSchema,
            ...('outputSchema' in tool ? { outputSchema: tool.outputSchema } : {}),
          }),
        ),
      }),
    );
    this.#server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const { name, arguments: values = {} } = params;
      const tool = fixtureTools.find((one) => one.name === name);
      if (tool !== undefined) return result(await tool.run(this.#callOf(values, extra)));
      const dialogue = fixtureDialogues.find((one) => one.name === name);
      if (dialogue === undefined) {
        throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
      }
      const answer = await this.#hold(dialogue, values, extra);
      return result({ content: [{ type: 'text', text: answer }] });
    });
  }

  #servePrompts(): void {
    this.#server.setRequestHandler(ListPromptsRequestSchema, () =>
      result({
        prompts: [...fixturePrompts, { ...askingPrompt, arguments: {} }].map((prompt) => ({
          name: prompt.name,
          description: prompt.description,
          arguments: Object.entries(prompt.arguments).map(([name, description]) => ({
            name,
            description,
            required: true,
          })),
        })),
      }),
    );
    this.#server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
      const { name, arguments: values = {} } = params;
      if (name === askingPrompt.name) {
        const answer = await this.#hold(askingPrompt, values, extra);
        return result({
          messages: [{ role: 'user', content: { type: 'text', text: answer } }],
        });
      }
      const prompt = fixturePrompts.find((one) => one.name === name);
      if (prompt === undefined) {
        throw new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${name}`);
      }
      return result({ description: prompt.description, messages: prompt.messages(values) });
    });
    this.#server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
      const values = completionsOf(params.argument.value);
      return { completion: { values, total: values.length, hasMore: false } };
    });
  }

  #serveResources(): void {
    this.#server.setRequestHandler(ListResourcesRequestSchema, () =>
      result({ resources: fixtureResources.map(({ content: _, ...resource }) => resource) }),
    );
    this.#server.setRequestHandler(ListResourceTemplatesRequestSchema, () =>
      result({ resourceTemplates: [fixtureTemplate] }),
    );
    this.#server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
      const listed = fixtureResources.find((resource) => resource.uri === uri);
      const content = listed?.content ?? templateContent(uri);
      if (content === null) throw new McpError(resourceNotFound, 'Resource not found', { uri });
      return result({ contents: [content] });
    });
    this.#server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
      this.#subscriptions.add(uri);
      return {};
    });
    this.#server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.#subscriptions.delete(uri);
      return {};
    });
  }

  #callOf(values: Readonly<Record<string, unknown>>, extra: Extra): FixtureCall {
    const progressToken = extra._meta?.progressToken;
    return {
      arguments: values,
      progress: async (progress, total) => {
        if (progressToken === undefined) return;
        const params = { progressToken, progress, total };
        await extra.sendNotification({ method: 'notifications/progress', params });
      },
      log: async (data) => {
        await extra.sendNotification({
          method: 'notifications/message',
          params: { level: 'info', logger: 'fixture', data },
        });
      },
      listChanged: (list) => {
        for (const session of this.#sessions.values()) session.#reportChange(list);
      },
      resourceUpdated: (uri) => {
        for (const session of this.#sessions.values()) session.#reportUpdate(uri);
      },
      closeStream: () => extra.closeSSEStream?.(),
    };
  }

  /** Sent on the stream of the session, which need not be open. */
  #reportChange(list: FixtureList): void {
    void this.#server.notification({ method: `notifications/${list}/list_changed` });
  }

  #reportUpdate(uri: string): void {
    if (this.#subscriptions.has(uri)) void this.#server.sendResourceUpdated({ uri });
  }

  /** Asks all questions of a dialogue, those of a round at once. */
  async #hold(
    dialogue: Dialogue,
    values: Readonly<Record<string, unknown>>,
    extra: Extra,
  ): Promise<string> {
    const declared = this.#server.getClientCapabilities() ?? {};
    const answers: Record<string, unknown> = {};
    for (const questions of roundsOf(dialogue, values, declared)) {
      const questioning = Object.entries(questions).map(async ([key, question]) => {
        this.#questions?.name(question.params, key);
        answers[key] = await this.#ask(question, extra);
      });
      await Promise.all(questioning);
    }
    return dialogue.finish(answers satisfies Answers);
  }

  async #ask(question: Question, extra: Extra): Promise<unknown> {
    const capability = capabilityOf[question.method];
    if (this.#server.getClientCapabilities()?.[capability] === undefined) {
      throw new McpError(ErrorCode.InvalidRequest, `The client does not support ${capability}`);
    }
    const schema = {
      'elicitation/create': ElicitResultSchema,
      'sampling/createMessage': CreateMessageResultSchema,
      'roots/list': ListRootsResultSchema,
    }[question.method];
    return await extra.sendRequest(question as ServerRequest, schema);
  }
}

/** Results of the fixtures are read-only, which the types of the SDK do not accept. */
function result(value: object): ServerResult {
  return value as ServerResult;
}
