/** Knows whether an answer is what the interface description says, and which of the answers told have been seen. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TestResponse } from '../server/server.ts';

export interface Operation {
  readonly method: string;
  /** As the document writes it: `/v2/configs/{configId}`. */
  readonly path: string;
  /** Those with a description of their own. */
  readonly statuses: readonly string[];
  readonly takesBody: boolean;
  readonly headers: readonly string[];
  /** What a query may say, by name. */
  readonly queries: Readonly<Record<string, Schema>>;
  /** Of a body of JSON. */
  readonly schema: Schema | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

interface DescribedResponse {
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

export class Description {
  readonly operations: readonly Operation[];
  /** Those that others refer to. */
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly #unseen: Set<string>;
  /** Most of the time went into code that is run once or twice: each schema is compiled once, as it comes. */
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
      Object.entries(methods).map(([method, { parameters, requestBody, responses }]) => {
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

  /** What is wrong with an answer of the operation; empty when it is as told. */
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

  /** Answers that are told and that no call of {@link faults} has met: `GET /livez 500`. */
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

/** Each on one of the mounts that it hangs on, as they have one handler; another by another number. */
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
