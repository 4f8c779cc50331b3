/** Validates responses of every plane against the OpenAPI document. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

interface DescribedOperation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, object>> }>
  >;
}

interface DescribedPaths {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
}

interface DescribedRoute {
  readonly method: string;
  /** As in the document: `/v2/configs/{configId}`. */
  readonly path: string;
  readonly pattern: RegExp;
  readonly responses: DescribedOperation['responses'];
}

export class AnswerSchemas {
  readonly #ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } });
  readonly #routes: readonly DescribedRoute[];

  constructor(document: DescribedPaths) {
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
    this.#routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        method: method.toUpperCase(),
        path,
        pattern: patternOf(path),
        responses,
      })),
    );
  }

  /**
   * Returns null when the response has the form that a matching operation documents. A method or path without
   * an operation must be refused. `path` is that of the request, without its query.
   */
  fault(method: string, path: string, status: number, body: unknown): string | null {
    const matching = this.#routes.filter((one) => one.method === method && one.pattern.test(path));
    if (matching.length === 0) {
      return status < 400 ? `${method} ${path} is not documented but answers ${status}` : null;
    }
    const faults = matching.map((one) => this.#faultOf(one, status, body));
    return faults.includes(null) ? null : faults[0]!;
  }

  #faultOf(
    { method, path, responses }: DescribedRoute,
    status: number,
    body: unknown,
  ): string | null {
    const name = [`${status}`, `${Math.trunc(status / 100)}XX`, 'default'].find(
      (one) => one in responses,
    );
    if (name === undefined) return `${method} ${path} does not document ${status}`;
    const { content } = responses[name]!;
    if (content === undefined) {
      return body === '' ? null : `${method} ${path} ${status} has a body`;
    }
    if (!('application/json' in content)) return null;
    const way = ['paths', path, method.toLowerCase(), 'responses', name, 'content'];
    const pointer = [...way, 'application/json', 'schema'].map(escaped).join('/');
    const validate = this.#ajv.getSchema(`openapi#/${pointer}`);
    if (validate === undefined) return `the document has no ${pointer}`;
    if (validate(body)) return null;
    return `${method} ${path} ${status} violates its schema: ${this.#ajv.errorsText(validate.errors)}`;
  }
}

function patternOf(path: string): RegExp {
  const source = path
    .split(/\{\w+\}/)
    .map((text) => text.replaceAll(/[^\w/]/g, String.raw`\$&`))
    .join('[^/]*');
  return new RegExp(`^${source}$`);
}

function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'));
}
