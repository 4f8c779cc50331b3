/** Replaces every text in replies of the Admin API by markup, by the schemas of its OpenAPI document. */
import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import { createIdleRoutes } from '../../../scripts/docs/idle-routes.ts';
import { describeApi } from '../../../src/http/openapi/openapi.ts';
import { mountRoutes } from '../../../src/http/routes/registry.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly minimum?: number;
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Markup {
  /** In place of texts. */
  readonly text: string;
  /** In place of addresses. */
  readonly address: string;
}

const depthMax = 10;

/**
 * From now on the page receives markup in each text of each reply, also in rows and members that the server would
 * not send. Names of members, numbers, times, ids and words of closed lists stay.
 */
export async function forgeReplies(page: Page, markup: Markup): Promise<ReplyForger> {
  const { guarded, open } = createIdleRoutes();
  const document = await describeApi([...mountRoutes(guarded), ...mountRoutes(open)]);
  const forger = new ReplyForger(document as unknown as ApiDocument, markup);
  await page.route(/\/(?:v1|admin)\//, (route) => forger.reply(route));
  return forger;
}

class ReplyForger {
  readonly #document: ApiDocument;
  readonly #markup: Markup;
  /** Places of the texts that were replaced, as `/v1/configs data[].name`. */
  readonly replaced = new Set<string>();

  constructor(document: ApiDocument, markup: Markup) {
    this.#document = document;
    this.#markup = markup;
  }

  async reply(route: Route): Promise<void> {
    const method = route.request().method().toLowerCase();
    const { pathname } = new URL(route.request().url());
    const [template, operations] = this.#find(pathname, method) ?? [];
    const schema = operations?.[method]?.responses['200']?.content?.['application/json']?.schema;
    if (template === undefined || schema === undefined) return route.continue();
    const reply = await route.fetch();
    const body: unknown = reply.ok() ? await reply.json().catch(() => undefined) : undefined;
    if (template === '/v1/session') {
      // Everything else of the session decides which requests the pages make.
      const { user, ...rest } = body as { user: object };
      return route.fulfill({ json: { ...rest, user: { ...user, email: this.#markup.text } } });
    }
    return route.fulfill({ status: 200, json: this.#forge(body, schema, template, 0) });
  }

  /** Returns the matching path with the fewest parameters. */
  #find(pathname: string, method: string) {
    const parametersOf = (path: string): number => path.split('{').length;
    return Object.entries(this.#document.paths)
      .filter(([path, all]) => all[method] !== undefined && matches(path, pathname))
      .sort(([one], [other]) => parametersOf(one) - parametersOf(other))[0];
  }

  /** A value of the schema with markup in its texts; what `value` lacks is made up. */
  #forge(value: unknown, schema: Schema, at: string, depth: number): unknown {
    const whole = this.#choose(schema, value);
    if (whole.const !== undefined) return whole.const;
    if (whole.enum !== undefined) return value ?? whole.enum.find((one) => one !== null);
    switch (typeOf(whole, value)) {
      case 'string':
        return this.#forgeText(value, whole, at);
      case 'array':
        return this.#forgeArray(value, whole, at, depth);
      case 'object':
        return this.#forgeObject(value, whole, at, depth);
      case 'boolean':
        return value ?? true;
      case 'null':
        return null;
      default:
        return value ?? whole.minimum ?? 1;
    }
  }

  #forgeText(value: unknown, { format }: Schema, at: string): unknown {
    const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
    if (format === 'date-time' || isTime) return value ?? new Date().toISOString();
    if (format === 'uuid') return value ?? randomUUID();
    this.replaced.add(at);
    if (format === 'uri' || (typeof value === 'string' && /^https?:/.test(value))) {
      return this.#markup.address;
    }
    // The document of a config is JSON in a text.
    const isConfig = at.endsWith('.config') && value === undefined;
    const document = isConfig ? { targets: [{ name: '', provider: '' }] } : documentIn(value);
    if (document !== undefined) return JSON.stringify(this.#forge(document, {}, at, 0));
    return this.#markup.text;
  }

  #forgeArray(value: unknown, { items = {} }: Schema, at: string, depth: number): unknown {
    if (depth > depthMax) return [];
    const rows: unknown[] = Array.isArray(value) && value.length > 0 ? value : [undefined];
    return rows.map((row) => this.#forge(row, items, `${at}[]`, depth + 1));
  }

  #forgeObject(value: unknown, schema: Schema, at: string, depth: number): unknown {
    const { properties = {}, additionalProperties: others } = schema;
    const given = (typeof value === 'object' && value !== null ? value : {}) as Record<
      string,
      unknown
    >;
    if (depth > depthMax) return given;
    const known = Object.entries(properties).map(([name, one]) => [
      name,
      this.#forge(given[name], one, `${at}.${name}`, depth + 1),
    ]);
    const free = typeof others === 'object' ? others : {};
    const further = Object.entries(given)
      .filter(([name]) => !Object.hasOwn(properties, name))
      .map(([name, one]) => [name, this.#forge(one, free, `${at}.*`, depth + 1)]);
    return Object.fromEntries([...known, ...further]);
  }

  /** Follows references, and of alternatives chooses the one of the value, or the first with content. */
  #choose(schema: Schema, value: unknown): Schema {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split('/').at(-1)!;
      return this.#choose(this.#document.components.schemas[name]!, value);
    }
    const { anyOf, oneOf, allOf } = schema;
    if (allOf !== undefined) return this.#merge(allOf, value);
    const all = (anyOf ?? oneOf)?.map((one) => this.#choose(one, value));
    if (all === undefined) return schema;
    const filled = all.filter((one) => one.type !== 'null');
    const own = filled.find((one) => value != null && typeOf(one, undefined) === jsonType(value));
    return own ?? filled[0] ?? {};
  }

  #merge(all: readonly Schema[], value: unknown): Schema {
    const parts = all.map((one) => this.#choose(one, value));
    const properties = Object.assign({}, ...parts.map((one) => one.properties ?? {}));
    return { ...Object.assign({}, ...parts), properties };
  }
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path);
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The type by the schema, or by the value where the schema permits any. */
function typeOf({ type, properties }: Schema, value: unknown): string {
  const named = typeof type === 'string' ? type : type?.find((one) => one !== 'null');
  if (named === 'integer') return 'number';
  return named ?? (properties === undefined ? jsonType(value) : 'object');
}

/** Some members are JSON in a text, which pages parse. */
function documentIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
