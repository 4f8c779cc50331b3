/** Renders the prompt that a request names into a model request (docs/reference/inference.md, Prompts). */
import { hasRight } from '../../auth/person-rights.ts';
import { writeJson } from '../../model/json/json-bytes.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { TemplateError } from '../../model/prompts/template-parser.ts';
import type { JsonRecord } from '../../model/wire/json-record.ts';
import { runInTurns } from '../../slices.ts';
import type { Database } from '../../store/connection/db.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { RenderablePrompt } from '../../store/reads/prompt-reads.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { SnapshotCache } from '../callers/snapshot-cache.ts';
import { isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export interface PromptsOptions {
  /** For the role of a person, which no snapshot has. */
  readonly database: Pick<Database, 'readable'>;
  readonly reads: Pick<ConfigurationReads, 'findPrompt' | 'findWorkspace'>;
  readonly cache: SnapshotCache<RenderablePrompt>;
}

/** The prompt and the action that a path names. */
export interface PromptPath {
  /** An id or slug, optionally with `@` and a version. */
  readonly reference: string;
  readonly action: 'render' | 'completions';
}

/** Null for any other path; `path` is below `/v1`. */
export function parsePromptPath(method: string | undefined, path: string): PromptPath | null {
  if (!path.startsWith('/prompts/') || method !== 'POST') return null;
  const [, reference, action] = /^\/prompts\/([^/]+)\/(render|completions)\/?$/.exec(path) ?? [];
  if (reference === undefined) return null;
  return { reference: decodeURIComponent(reference), action: action as PromptPath['action'] };
}

/** The model request that a prompt renders to. */
export interface RenderedPrompt extends Pick<Exchange, 'path' | 'params' | 'body' | 'isJson'> {
  /** Slug of the prompt. */
  readonly slug: string;
  /** The `metadata` member of the request; undefined for none. */
  readonly metadata: unknown;
}

export class Prompts {
  readonly #options: PromptsOptions;

  constructor(options: PromptsOptions) {
    this.#options = options;
  }

  /**
   * Renders the prompt with the parameters of the request.
   *
   * @throws GatewayError when the prompt does not exist or is not visible to the key, when its variables are
   *   invalid, or when the caller may not read it
   */
  async fill(
    key: GatewayKey,
    { reference, action }: PromptPath,
    { params: sent, body: sentBody }: Pick<Exchange, 'params' | 'body'>,
  ): Promise<RenderedPrompt> {
    if (action === 'render' && !grantsScope(key.scopes, renderScope)) {
      throw new GatewayError('scope_missing', `The API key lacks the scope ${renderScope}`);
    }
    const { slug, workspaceId, content, template, partials } = await this.#find(key, reference);
    if (action === 'render') await this.#requireReadable(key, workspaceId);
    requireVariables(sent.variables);
    try {
      const params = template.render(sent as JsonRecord, partials);
      const path = 'prompt' in params ? '/completions' : '/chat/completions';
      const { request, metadata } =
        action === 'render'
          ? { request: params, metadata: undefined }
          : withoutMetadata(withProvider(params, content.virtual_key));
      const body = await writeRendered(request, isLong(sentBody));
      return { path, params: request, body, isJson: true, slug, metadata };
    } catch (thrown) {
      if (thrown instanceof TemplateError) {
        throw new GatewayError('invalid_request', thrown.message, 'variables', { cause: thrown });
      }
      // JSON.stringify has a depth limit, JSON.parse has none.
      if (!(thrown instanceof RangeError)) throw thrown;
      const message = 'The JSON body is nested too deeply';
      throw new GatewayError('invalid_json', message, null, { cause: thrown });
    }
  }

  /** Requires the right to read prompts, because a rendered prompt reveals its text. */
  async #requireReadable(
    { organisationId, personId: userId }: GatewayKey,
    workspaceId: string,
  ): Promise<void> {
    if (userId === null) return;
    const { database, reads } = this.#options;
    const workspace = (await reads.findWorkspace(organisationId, workspaceId)) ?? null;
    if (await hasRight(database.readable, { organisationId, userId }, workspace, 'ViewPrompts'))
      return;
    const message = 'The workspace does not show its prompts to members with your role';
    throw new GatewayError('prompt_not_shown', message);
  }

  async #find(key: GatewayKey, reference: string): Promise<RenderablePrompt> {
    const { cache, reads } = this.#options;
    const { organisationId } = key;
    const cacheKey = `${organisationId} ${reference}`;
    const prompt =
      cache.peek(cacheKey) ??
      (await cache.get(cacheKey, async () => {
        const read = await reads.findPrompt(organisationId, reference);
        return read && { organisationId, generation: read.generation, value: read.prompt };
      }));
    const isVisible = key.workspace === null || key.workspace.id === prompt?.workspaceId;
    if (prompt !== undefined && isVisible) return prompt;
    const quoted = /^[\w@-]{1,255}$/.test(reference) ? ` ${reference}` : '';
    throw new GatewayError('not_found', `There is no prompt${quoted}`, 'prompt_id');
  }
}

/** In turns for a long request. A template itself renders a bounded text (model/prompts/template-renderer.ts). */
function writeRendered(request: JsonRecord, isLongRequest: boolean): Buffer | Promise<Buffer> {
  return isLongRequest ? runInTurns(writeJson(request)) : Buffer.from(JSON.stringify(request));
}

const renderScope = 'prompts.render';

function requireVariables(variables: unknown): void {
  const isMap = typeof variables === 'object' && variables !== null && !Array.isArray(variables);
  if (isMap || variables === undefined) return;
  throw new GatewayError('invalid_request', 'variables must be an object', 'variables');
}

/**
 * Splits off `metadata`, which clients of prompts use for labels. Providers accept it only for requests that they
 * store, and reject it otherwise.
 */
function withoutMetadata(params: JsonRecord): { request: JsonRecord; metadata: unknown } {
  const { metadata, ...rest } = params;
  return { request: params.store === true ? params : rest, metadata };
}

/** Prefixes the model with the provider, so that a provider pinned by a config or header takes precedence. */
function withProvider(params: JsonRecord, slug: string | null): JsonRecord {
  const { model } = params;
  if (slug === null || (typeof model === 'string' && model.startsWith('@'))) return params;
  if (typeof model !== 'string') {
    const message = 'Neither the prompt nor the request names a model';
    throw new GatewayError('invalid_request', message, 'model');
  }
  return { ...params, model: `@${slug}/${model}` };
}
