/** Sends generated requests to the product, scene by scene, and shortens those that find a fault. */
import fc from 'fast-check';
import { SeededRandom } from '../../support/run/seeded-random.ts';
import { applyEdits, type Edit, editsOf, type RequestDraft } from './edits.ts';
import type { FuzzedProduct } from './product.ts';
import type { FuzzedRoute } from './routes.ts';
import { type Credentials, openScene, readDocument, type Scene } from './scene.ts';
import { curlOf, RequestSender, type SendableRequest } from './send-draft.ts';
import { faultsOfAnswer, type Plane } from './verdict.ts';

export interface RequestsOptions {
  readonly seed: number;
  readonly requests: number;
  /** Ends early after this time; null for no limit. */
  readonly untilMs: number | null;
  readonly progress: (line: string) => void;
}

export interface RequestsResult {
  readonly sent: number;
  readonly routes: number;
  readonly byPlane: Readonly<Record<string, number>>;
  /** Counts by the first digit of the status: `2xx`. */
  readonly byStatus: Readonly<Record<string, number>>;
  readonly longestBlockMs: number;
  readonly failures: readonly RequestFailure[];
}

export interface RequestFailure {
  /** Repeats the scene in which it occurred. */
  readonly command: string;
  readonly route: string;
  readonly faults: readonly string[];
  readonly curl: string;
}

/** Requests after which a new tenant starts, because changes wear the old one out. */
const requestsPerScene = 500;
/** A run ends when this many failures are known. */
const failuresMax = 20;
const shrinksMs = 20_000;
/** Server errors are logged as such. */
const isErrorLine = (line: string): boolean =>
  /"level":(?:50|60)\b|"level":"(?:error|fatal)"/.test(line);

class RequestRun {
  readonly #product: FuzzedProduct;
  readonly #options: RequestsOptions;
  readonly #sender = new RequestSender();
  readonly #counts = {
    sent: 0,
    byPlane: {} as Record<string, number>,
    byStatus: {} as Record<string, number>,
  };
  readonly #failures: RequestFailure[] = [];
  readonly #known = new Set<string>();
  #routes = 0;

  constructor(product: FuzzedProduct, options: RequestsOptions) {
    this.#product = product;
    this.#options = options;
  }

  async run(): Promise<RequestsResult> {
    const { requests, seed, untilMs, progress } = this.#options;
    const document = await readDocument(this.#product);
    for (let at = 0; this.#counts.sent < requests && !this.#isOver(untilMs); at += 1) {
      const scene = await openScene(this.#product, document);
      this.#routes = scene.routes.length;
      const count = Math.min(requestsPerScene, requests - this.#counts.sent);
      await this.#runScene(scene, seed + at, count);
      progress(`${this.#counts.sent} requests, ${this.#failures.length} failures`);
    }
    this.#sender[Symbol.dispose]();
    return {
      ...this.#counts,
      routes: this.#routes,
      longestBlockMs: this.#product.longestBlockMs(),
      failures: this.#failures,
    };
  }

  #isOver(untilMs: number | null): boolean {
    const isLate = untilMs !== null && performance.now() > untilMs;
    return isLate || this.#failures.length >= failuresMax || this.#product.ending() !== null;
  }

  /** Visits the routes in a shuffled order; each is visited before one is visited again over all scenes. */
  async #runScene(scene: Scene, seed: number, count: number): Promise<void> {
    const order = shuffled(scene.routes, seed);
    this.#product.takeLog();
    for (let at = 0; at < count && !this.#isOver(this.#options.untilMs); at += 1) {
      const route = order[at % order.length]!;
      await this.#tryRoute(scene, route, { seed, requestSeed: seed * 1_000 + at });
    }
    this.#judgeLog(scene, seed);
  }

  async #tryRoute(
    scene: Scene,
    route: FuzzedRoute,
    { seed, requestSeed }: { readonly seed: number; readonly requestSeed: number },
  ): Promise<void> {
    const draft = await route.draft();
    const kinds = Object.keys(scene.credentials);
    const plan = fc.record({
      // Most requests have the right credential, because others reach little.
      credential: fc.oneof(
        { weight: 9, arbitrary: fc.constant(route.credential) },
        { weight: 1, arbitrary: fc.constantFrom(...kinds) },
      ),
      edits: editsOf(route, scene.drawn),
    });
    let last: { request: SendableRequest; faults: string[] } | undefined;
    const property = fc.asyncProperty(plan, async ({ credential, edits }) => {
      const request = this.#requestOf(route, draft, scene.credentials[credential]!, edits);
      const faults = await this.#send(scene, route, request);
      if (faults.length === 0) return;
      last = { request, faults };
      throw new Error(faults.join('; '));
    });
    await fc.check(property, { seed: requestSeed, numRuns: 1, interruptAfterTimeLimit: shrinksMs });
    if (last !== undefined) this.#fail(route, last, seed);
  }

  #requestOf(
    route: FuzzedRoute,
    draft: RequestDraft,
    credential: Credentials[string],
    edits: readonly Edit[],
  ): SendableRequest {
    const edited = applyEdits({ ...draft, headers: { ...credential, ...draft.headers } }, edits);
    const { method, path, query, headers, body } = edited;
    const url = urlOf(this.#product, route);
    return { method, url, target: query === '' ? path : `${path}?${query}`, headers, body };
  }

  async #send(scene: Scene, route: FuzzedRoute, request: SendableRequest): Promise<string[]> {
    const { plane, statuses } = route;
    this.#counts.sent += 1;
    this.#counts.byPlane[plane] = (this.#counts.byPlane[plane] ?? 0) + 1;
    try {
      const answer = await this.#sender.send(request);
      const digit = `${Math.trunc(answer.status / 100)}xx`;
      this.#counts.byStatus[digit] = (this.#counts.byStatus[digit] ?? 0) + 1;
      const path = request.target.split('?', 1)[0]!;
      const judged = { plane, statuses, method: request.method, path };
      return faultsOfAnswer(judged, answer, scene.schemas, scene.canaries);
    } catch (error) {
      const ending = this.#product.ending();
      const text = ending === null ? (error as Error).message : `the process ended with ${ending}`;
      return [`no response: ${text}`];
    }
  }

  #fail(
    { name }: Pick<FuzzedRoute, 'name'>,
    { request, faults }: { readonly request: SendableRequest; readonly faults: readonly string[] },
    seed: number,
  ): void {
    const key = `${name} ${faults.join(' ').slice(0, 80)}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    const command = `npm run fuzz -- requests --seed ${seed} --requests ${requestsPerScene}`;
    const failure = { command, route: name, faults, curl: curlOf(request) };
    this.#failures.push(failure);
    this.#options.progress(failureText(failure));
  }

  #judgeLog(scene: Scene, seed: number): void {
    const lines = this.#product.takeLog();
    const leaks = lines.filter((line) => scene.canaries.some((canary) => line.includes(canary)));
    const errors = lines.filter(isErrorLine);
    const none = {
      method: 'GET',
      url: this.#product.urls.admin,
      target: '/',
      headers: {},
      body: undefined,
    };
    for (const line of leaks) {
      this.#fail({ name: 'log' }, { request: none, faults: [`leaks a secret: ${line}`] }, seed);
    }
    for (const line of errors) {
      const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: object };
      const faults = [`logs an error: ${msg} ${JSON.stringify(err ?? {}).slice(0, 1_500)}`];
      this.#fail({ name: 'log' }, { request: none, faults }, seed);
    }
  }
}

/** Runs until the number of requests, the time or the number of failures is reached. */
export function fuzzRequests(
  product: FuzzedProduct,
  options: RequestsOptions,
): Promise<RequestsResult> {
  return new RequestRun(product, options).run();
}

export function failureText({ route, faults, curl, command }: RequestFailure): string {
  return [
    `FAILED ${route}: ${faults.join('; ')}`,
    `  ${curl.slice(0, 4_000)}`,
    `  ${command}`,
  ].join('\n');
}

function urlOf({ urls }: FuzzedProduct, { plane, name }: FuzzedRoute): string {
  const ofAdmin = plane === 'metrics' && name.includes('/console');
  const byPlane: Record<Plane, string> = {
    admin: urls.admin,
    inference: urls.inference,
    mcp: urls.mcp,
    metrics: ofAdmin ? urls.admin : urls.metrics,
  };
  return byPlane[plane];
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = new SeededRandom(seed);
  const rest = [...items];
  for (let at = rest.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [rest[at], rest[other]] = [rest[other]!, rest[at]!];
  }
  return rest;
}
