/** Lists every request that a provider's client can send, by calling each of its methods. */

type Part = Record<string, unknown>;
type Method = (...given: unknown[]) => unknown;

export interface ClientRequest {
  /** For example `fineTuning.jobs.retrieve`. */
  readonly name: string;
  readonly method: string;
  /** With `{…}` in place of each id; null when nothing is sent. */
  readonly path: string | null;
}

type Fetch = (url: unknown, init: { readonly method?: string }) => Promise<Response>;

/**
 * Sends nothing: `open` creates a client with this `fetch`. Methods for which `skips` returns true
 * are not called.
 */
export async function clientRequests(
  open: (fetch: Fetch) => object,
  skips: (name: string) => boolean,
): Promise<ClientRequest[]> {
  let sent: Omit<ClientRequest, 'name'> | null = null;
  const client = open(async (url, init) => {
    const path = decodeURIComponent(new URL(String(url)).pathname);
    sent ??= { method: init.method?.toUpperCase() ?? 'GET', path };
    return Response.json({}, { status: 400 });
  });
  const requests: ClientRequest[] = [];
  for (const { name, part, method } of methodsOf(client as Part)) {
    sent = null;
    if (!skips(name)) {
      await Promise.resolve()
        .then(() => method.apply(part, argumentsOf(method)))
        .catch(() => undefined);
    }
    requests.push({ name, ...(sent ?? { method: '', path: null }) });
  }
  return requests;
}

/** Methods of all resources below the client. */
function methodsOf(client: Part) {
  const found: { readonly name: string; readonly part: Part; readonly method: Method }[] = [];
  const seen = new Set<unknown>([client]);
  for (const queue = [{ part: client, path: '' }]; queue.length > 0; ) {
    const { part, path } = queue.shift()!;
    for (const [name, value] of Object.entries(part)) {
      const isResource = typeof value === 'object' && value !== null && '_client' in value;
      if (!isResource || seen.has(value)) continue;
      seen.add(value);
      const resource = value as Part;
      queue.push({ part: resource, path: `${path}${name}.` });
      const kind = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(resource));
      for (const [of, { value: method }] of Object.entries(kind)) {
        if (typeof method !== 'function' || of === 'constructor') continue;
        found.push({ name: `${path}${name}.${of}`, part: resource, method: method as Method });
      }
    }
  }
  return found;
}

/** Unique texts as ids, and parameters that have any property. */
function argumentsOf(method: Method): unknown[] {
  const head = /\(([^)]*)\)?/.exec(method.toString().split('{', 1)[0]!)![1]!;
  return head.split(',').flatMap((word) => {
    const name = word.split('=')[0]!.trim();
    if (name === '' || /options/i.test(name)) return [];
    return [/params|body|query|args/i.test(name) ? anyParams() : `{${name}}`];
  });
}

function anyParams(): object {
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (typeof name === 'symbol' || name === 'then' || name === 'stream') return undefined;
        return ['betas', 'tools', 'messages'].includes(name) ? [] : `{${name}}`;
      },
    },
  );
}
