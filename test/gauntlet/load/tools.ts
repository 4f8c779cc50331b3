/** Calls of MCP tools in sessions of the legacy era, each with a text of its own. */
import { type Scene, toolHost } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import { callGateway } from './gateway-call.ts';
import type { Load, LoadOptions } from './load.ts';

const callsOfSession = 50;
/** One list in this many calls. */
const callsOfList = 10;

export class Tools implements Load {
  readonly name = 'tools';
  readonly pace = { share: 0.15 };
  /** Texts of calls whose result arrived. */
  readonly answered: string[] = [];
  readonly #scene: Scene;
  readonly #random: () => number;
  readonly #key: string;
  readonly #path: string;
  #session: { readonly id: string; left: number } | null = null;
  #calls = 0;

  constructor(scene: Scene, random: () => number, key: string, slug: string) {
    this.#scene = scene;
    this.#random = random;
    this.#key = key;
    this.#path = `/${slug}/mcp`;
  }

  async send(): Promise<Answer> {
    const session = this.#session;
    if (session === null || session.left <= 0) return this.#open();
    session.left -= 1;
    if (session.left % callsOfList === 0) return this.#list(session.id);
    this.#calls += 1;
    const text = `tool-call-${this.#calls}-${Date.now()}`;
    const params = { name: 'echo', arguments: { text } };
    const answer = await this.#call('tools/call', params, { 'mcp-session-id': session.id });
    const isWhole = answer.isUsual && answer.detail.includes(text);
    if (isWhole) this.answered.push(text);
    // A session that is refused is opened again, as clients do.
    else if (answer.status === 404) this.#session = null;
    return { ...answer, isUsual: isWhole };
  }

  /** Every list has the tool that is called. */
  async #list(session: string): Promise<Answer> {
    const answer = await this.#call('tools/list', {}, { 'mcp-session-id': session });
    if (answer.status === 404) this.#session = null;
    return { ...answer, isUsual: answer.isUsual && answer.detail.includes('"echo"') };
  }

  async #open(): Promise<Answer> {
    const answer = await this.#call('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'gauntlet', version: '1' },
    });
    if (answer.session !== null) this.#session = { id: answer.session, left: callsOfSession };
    return answer;
  }

  async #call(
    method: string,
    params: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer & { readonly session: string | null }> {
    const { text, ...answer } = await callGateway(this.#scene, this.#random, {
      plane: 'mcp',
      method: 'POST',
      path: this.#path,
      key: this.#key,
      body: { jsonrpc: '2.0', id: 1, method, params },
      headers: { accept: 'application/json, text/event-stream', ...headers },
    });
    const isUsual = answer.status === 200 || answer.place === null;
    return { ...answer, surface: 'tools', load: this.name, detail: text.slice(0, 300), isUsual };
  }
}

export async function prepareTools(scene: Scene, { random }: LoadOptions): Promise<Tools> {
  const [tenant] = scene.tenants;
  const workspace = await tenant.require('POST', '/v2/workspaces', { name: 'tools' });
  const integration = await tenant.require('POST', '/v2/mcp-integrations', {
    name: 'journal',
    url: `http://${toolHost}:${scene.toolServer.port}/mcp`,
    auth_type: 'none',
    transport: 'http',
  });
  const server = { name: 'journal', slug: 'journal', mcp_integration_id: integration.id };
  const { slug } = await tenant.require('POST', '/v2/mcp-servers', {
    ...server,
    workspace_id: workspace.id,
  });
  const { key } = await tenant.require('POST', '/v1/api-keys/workspace/service', {
    name: 'agent',
    scopes: ['mcp.invoke'],
    workspace_id: workspace.id,
  });
  return new Tools(scene, random, key, slug);
}
