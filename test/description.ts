/** Knows whether an answer is what the interface description says, and which of the answers told have been seen. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TestResponse } from './server.ts';

export interface Operation {
  readonly method: string;
  /** As the document writes it: `/v2/configs/{configId}`. */
  readonly path: string;
  /** Those with a description of their own. */
  readonly statuses: readonly string[];
  readonly takesBody: boolean;
  readonly headers: readonly string[];
  /** Names of what a query may say. */
  readonly queries: readonly string[];
}

interface Described {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

export class Description {
  readonly operations: readonly Operation[];
  readonly #unseen: Set<string>;
  /** Most of the time went into code that is run once or twice: each schema is compiled once, as it comes. */
  readonly #ajv = new Ajv2020({
    ...{ strict: false, allErrors: true },
    ...{ inlineRefs: false, code: { optimize: false } },
  });
  readonly #responses = new Map<string, Described['responses']>();

  constructor(document: Document) {
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters, requestBody, responses }]) => {
        const operation = { method: method.toUpperCase(), path };
        const named = (place: string) =>
          parameters.flatMap((one) => (one.in === place ? [one.name] : []));
        this.#responses.set(nameOf(operation), responses);
        return {
          ...operation,
          statuses: Object.keys(responses).filter((status) => status !== 'default'),
          takesBody: requestBody !== undefined,
          headers: named('header'),
          queries: named('query'),
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
    if (response === undefined) return [`${name} is not said to answer ${status}: ${told(body)}`];
    this.#unseen.delete(`${name} ${status}`);
    if (response.content === undefined) return body === '' ? [] : [`${name} ${status} has a body`];
    const validate = this.#validator(operation, status);
    if (validate(body)) return [];
    return [`${name} ${status}: ${this.#ajv.errorsText(validate.errors)} in ${told(body)}`];
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

export function nameOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function told(body: unknown): string {
  return JSON.stringify(body).slice(0, 300);
}
