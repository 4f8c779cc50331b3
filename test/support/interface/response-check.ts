/**
 * Validates responses against the OpenAPI document, and records which documented responses have
 * occurred.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TestResponse } from '../network/exchange.ts';

export interface Operation {
  readonly method: string;
  /** As in the document: `/v2/configs/{configId}`. */
  readonly path: string;
  /** Statuses with their own description. */
  readonly statuses: readonly string[];
  readonly takesBody: boolean;
  readonly headers: readonly string[];
  /** Schemas of the query parameters, by name. */
  readonly queries: Readonly<Record<string, Schema>>;
  /** The schema of a JSON body. */
  readonly schema: Schema | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

interface DescribedResponse {
  readonly tags?: readonly string[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedResponse>>>>;
}

/** The operations of a path that the Admin API serves; the others are those of the gateway. */
export function adminOperations<T extends { readonly tags?: readonly string[] }>(
  methods: Readonly<Record<string, T>>,
): [method: string, operation: T][] {
  return Object.entries(methods).filter(
    ([, { tags = [] }]) => !tags.includes('Inference') && !tags.includes('Stored objects'),
  );
}

export class Description {
  /** The operations of the Admin API. */
  readonly operations: readonly Operation[];
  /** Schemas that others reference. */
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly #unseen: Set<string>;
  /** Compiling was most of the cost, so each schema is compiled once, on first use. */
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    inlineRefs: false,
    code: { optimize: false },
  });
  readonly #responses = new Map<string, DescribedResponse['responses']>();

  constructor(document: Document) {
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
    this.schemas = document.components.schemas;
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      adminOperations(methods).map(([method, { parameters, requestBody, responses }]) => {
        const operation = { method: method.toUpperCase(), path };
        const queries = parameters.filter((one) => one.in === 'query');
        this.#responses.set(nameOf(operation), responses);
        return {
          ...operation,
          statuses: Object.keys(responses).filter((status) => status !== 'default'),
          takesBody: requestBody !== undefined,
          headers: parameters.flatMap((one) => (one.in === 'header' ? [one.name] : [])),
          queries: Object.fromEntries(queries.map(({ name, schema }) => [name, schema])),
          schema: requestBody?.content['application/json']?.schema,
        };
      }),
    );
    this.#unseen = new Set(
      this.operations.flatMap((one) => one.statuses.map((status) => `${nameOf(one)} ${status}`)),
    );
  }

  /** Returns the faults of a response of the operation. */
  faults(operation: Pick<Operation, 'method' | 'path'>, { status, body }: TestResponse): string[] {
    const name = nameOf(operation);
    const response = this.#responses.get(name)?.[status];
    if (response === undefined)
      return [`${name} is not said to answer ${status}: ${describeBody(body)}`];
    this.#unseen.delete(`${name} ${status}`);
    if (response.content === undefined) return body === '' ? [] : [`${name} ${status} has a body`];
    const validate = this.#validator(operation, status);
    if (validate(body)) return [];
    return [`${name} ${status}: ${this.#ajv.errorsText(validate.errors)} in ${describeBody(body)}`];
  }

  /** Documented responses that no call of {@link faults} has received: `GET /livez 500`. */
  unseen(): string[] {
    return [...this.#unseen];
  }

  #validator({ method, path }: Pick<Operation, 'method' | 'path'>, status: number) {
    const way = ['paths', path, method.toLowerCase(), 'responses', `${status}`, 'content'];
    const pointer = [...way, 'application/json', 'schema'].map(escaped).join('/');
    const validate = this.#ajv.getSchema(`openapi#/${pointer}`);
    if (validate === undefined) throw new Error(`the description has no ${pointer}`);
    return validate;
  }
}

/**
 * Each operation on one of its mounts, because all mounts share a handler; `which` selects the
 * mount.
 */
export function onOneMount(operations: readonly Operation[], which: number): Operation[] {
  const mounts = Object.groupBy(operations, ({ method, path }) =>
    nameOf({ method, path: path.replace(/^\/(?:v1|v2|admin\/v2)(?=\/)/, '') }),
  );
  return Object.values(mounts).map((mounted) => mounted![which % mounted!.length]!);
}

export function nameOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function describeBody(body: unknown): string {
  return JSON.stringify(body).slice(0, 300);
}
