/** Calls a server of the MCP gateway as clients of the modern era do, and reads JSON and events alike. */
import type { McpTestPlane } from '../server/mcp-plane.ts';
import { messagesIn } from './open-events.ts';

type RpcMessage = ReturnType<typeof JSON.parse>;

interface ModernAnswer {
  readonly status: number;
  /** The response. */
  readonly message: RpcMessage;
  /** Messages before it. */
  readonly notices: readonly RpcMessage[];
  /** The body as it arrived. */
  readonly text: string;
}

interface ModernOptions {
  readonly key?: string;
  /** The URL of another replica. */
  readonly url?: string;
  /** Capabilities of the client. */
  readonly capabilities?: object;
  /** Further members of `_meta`. */
  readonly meta?: object;
  readonly id?: unknown;
}

const version = '2026-07-28';
const names: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** A tool of the fixtures that asks for a name. */
export const askingTool = 'test_input_required_result_elicitation';
/** Answers its question. */
export const acceptAs = (name: string) => () => ({ action: 'accept', content: { name } });

export class ModernCaller {
  readonly #plane: McpTestPlane;
  readonly #key: string;
  readonly #slug: string;
  #ids = 0;

  constructor(plane: McpTestPlane, key: string, slug: string) {
    this.#plane = plane;
    this.#key = key;
    this.#slug = slug;
  }

  /** Calls a tool without arguments unless `params` has some. */
  callTool(name: string, params: object = {}, options: ModernOptions = {}): Promise<ModernAnswer> {
    return this.call('tools/call', { name, arguments: {}, ...params }, options);
  }

  /** Repeats a call with answers to the questions of the first one. */
  answer(
    name: string,
    first: ModernAnswer,
    answerOf: (question: RpcMessage, key: string) => unknown,
    options: ModernOptions = {},
  ): Promise<ModernAnswer> {
    const { inputRequests, requestState } = first.message.result;
    const inputResponses = Object.fromEntries(
      Object.entries(inputRequests).map(([key, question]) => [key, answerOf(question, key)]),
    );
    return this.callTool(name, { inputResponses, requestState }, options);
  }

  async call(
    method: string,
    params: Record<string, unknown> = {},
    options: ModernOptions = {},
  ): Promise<ModernAnswer> {
    const { body, headers } = this.request(method, params, options);
    const { key = this.#key, url } = options;
    const sent = await this.#plane.send(key, this.#slug, body, {
      headers,
      ...(url === undefined ? {} : { url }),
    });
    if (typeof sent.body !== 'string') {
      const text = JSON.stringify(sent.body);
      return { status: sent.status, message: sent.body, notices: [], text };
    }
    const messages = messagesIn(sent.body);
    const message = messages.at(-1);
    return { status: sent.status, message, notices: messages.slice(0, -1), text: sent.body };
  }

  request(
    method: string,
    params: Record<string, unknown>,
    { capabilities = { elicitation: {}, sampling: {}, roots: {} }, meta, id }: ModernOptions = {},
  ) {
    this.#ids += 1;
    const own = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...meta,
    };
    const named = names[method];
    const headers: Record<string, string> = {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': String(params[named]) }),
    };
    const all = { ...params, _meta: own };
    return { body: { jsonrpc: '2.0', id: id ?? this.#ids, method, params: all }, headers };
  }
}
