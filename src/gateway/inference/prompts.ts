/** Knows requests that name a prompt: what they become once it is filled in (docs/reference/inference.md, Prompts). */
import { hasRight } from '../../auth/person-rights.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { TemplateError } from '../../model/prompts/template-parser.ts';
import type { JsonRecord } from '../../model/wire/json-record.ts';
import type { Database } from '../../store/connection/db.ts';
import * as gatewayReads from '../../store/reads/gateway-reads.ts';
import type { RenderablePrompt } from '../../store/reads/prompt-reads.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { SnapshotCache } from '../callers/snapshot-cache.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export interface PromptsOptions {
  readonly database: Pick<Database, 'readable'>;
  readonly fresh: SnapshotCache<RenderablePrompt>;
}

/** What a path asks of a prompt. */
export interface PromptPath {
  /** An id or slug, perhaps with `@` and a version. */
  readonly reference: string;
  readonly action: 'render' | 'completions';
}

/** Null for any other path; `path` is behind `/v1`. */
export function parsePromptPath(method: string | undefined, path: string): PromptPath | null {
  if (!path.startsWith('/prompts/') || method !== 'POST') return null;
  const [, reference, action] = /^\/prompts\/([^/]+)\/(render|completions)\/?$/.exec(path) ?? [];
  if (reference === undefined) return null;
  return { reference: decodeURIComponent(reference), action: action as PromptPath['action'] };
}

/** The request for a model that a prompt makes. */
export interface RenderedPrompt extends Pick<Exchange, 'path' | 'params' | 'body' | 'isJson'> {
  /** Of the prompt. */
  readonly slug: string;
  /** What the caller says of the request beside it; undefined for nothing. */
  readonly metadata: unknown;
}

export class Prompts {
  readonly #options: PromptsOptions;

  constructor(options: PromptsOptions) {
    this.#options = options;
  }

  /**
   * What the prompt makes of the parameters that were sent.
   *
   * @throws GatewayError for a prompt that the key does not see, as for one that does not exist, and
   *   for what cannot be filled in, or is not shown to the caller
   */
  async fill(
    key: GatewayKey,
    { reference, action }: PromptPath,
    sent: Readonly<Record<string, unknown>>,
  ): Promise<RenderedPrompt> {
    if (action === 'render' && !grantsScope(key.scopes, renderScope)) {
      throw new GatewayError('scope_missing', `The API key lacks the scope ${renderScope}`);
    }
    const { slug, workspaceId, content, template, partials } = await this.#find(key, reference);
    if (action === 'render') await this.#requireShown(key, workspaceId);
    requireVariables(sent.variables);
    try {
      const params = template.render(sent as JsonRecord, partials);
      const path = 'prompt' in params ? '/completions' : '/chat/completions';
      const { asked, metadata } =
        action === 'render'
          ? { asked: params, metadata: undefined }
          : apart(withProvider(params, content.virtual_key));
      const body = Buffer.from(JSON.stringify(asked));
      return { path, params: asked, body, isJson: true, slug, metadata };
    } catch (thrown) {
      if (thrown instanceof TemplateError) {
        throw new GatewayError('invalid_request', thrown.message, 'variables', { cause: thrown });
      }
      // What is read without a bound cannot be written without one.
      if (!(thrown instanceof RangeError)) throw thrown;
      const message = 'The JSON body is nested too deeply';
      throw new GatewayError('invalid_json', message, null, { cause: thrown });
    }
  }

  /** What is rendered can be read, which the workspace may not let people of the caller's role. */
  async #requireShown(
    { organisationId, personId: userId }: GatewayKey,
    workspaceId: string,
  ): Promise<void> {
    if (userId === null) return;
    const db = this.#options.database.readable;
    const place = (await workspaces.findByIdOrSlug(db, organisationId, workspaceId)) ?? null;
    if (await hasRight(db, { organisationId, userId }, place, 'ViewPrompts')) return;
    const message = 'The workspace does not show its prompts to people of your role';
    throw new GatewayError('prompt_not_shown', message);
  }

  async #find(key: GatewayKey, reference: string): Promise<RenderablePrompt> {
    const { fresh, database } = this.#options;
    const { organisationId } = key;
    const place = `${organisationId} ${reference}`;
    const known =
      fresh.peek(place) ??
      (await fresh.get(place, async () => {
        const read = await gatewayReads.findPrompt(database.readable, organisationId, reference);
        return read && { organisationId, generation: read.generation, value: read.prompt };
      }));
    const isSeen = key.workspace === null || key.workspace.id === known?.workspaceId;
    if (known !== undefined && isSeen) return known;
    const shown = /^[\w@-]{1,255}$/.test(reference) ? ` ${reference}` : '';
    throw new GatewayError('not_found', `There is no prompt${shown}`, 'prompt_id');
  }
}

const renderScope = 'prompts.render';

function requireVariables(variables: unknown): void {
  const isMap = typeof variables === 'object' && variables !== null && !Array.isArray(variables);
  if (isMap || variables === undefined) return;
  throw new GatewayError('invalid_request', 'variables must be an object', 'variables');
}

/**
 * Clients of prompts say in `metadata` what the request is for. Providers take it with what they are to
 * store only, and refuse it otherwise.
 */
function apart(params: JsonRecord): { asked: JsonRecord; metadata: unknown } {
  const { metadata, ...rest } = params;
  return { asked: params.store === true ? params : rest, metadata };
}

/** The provider stands before the model, so that what a config or header pins counts first. */
function withProvider(params: JsonRecord, slug: string | null): JsonRecord {
  const { model } = params;
  if (slug === null || (typeof model === 'string' && model.startsWith('@'))) return params;
  if (typeof model !== 'string') {
    const message = 'Neither the prompt nor the request names a model';
    throw new GatewayError('invalid_request', message, 'model');
  }
  return { ...params, model: `@${slug}/${model}` };
}
