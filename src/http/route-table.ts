/** Knows which of the routes a method and a path mean. */

/** What a path leads to, and what it says in the places that the pattern leaves open, decoded. */
export interface Found<Entry> {
  readonly entry: Entry;
  readonly params: Record<string, string>;
}

/** Longer parts of a path are no value of any parameter. */
const parameterCharsMax = 1024;

interface Junction<Entry> {
  readonly fixed: Map<string, Junction<Entry>>;
  /** Where a part goes on that is no fixed word, or that leads nowhere as one. */
  open: Junction<Entry> | null;
  end: End<Entry> | null;
}

interface End<Entry> {
  readonly entry: Entry;
  /** Names by the number of the part that each stands for. */
  readonly names: readonly (readonly [number, string])[];
}

/**
 * Patterns are like `/v1/guardrails/:guardrailId`. The framework has a router as well, to which every
 * route is work at the start of the process: it writes and compiles code for each.
 */
export class RouteTable<Entry> {
  readonly #starts = new Map<string, Junction<Entry>>();

  add(method: string, pattern: string, entry: Entry): void {
    const parts = pattern.split('/');
    let at = this.#starts.get(method) ?? createJunction();
    this.#starts.set(method, at);
    for (const part of parts) {
      const next = part.startsWith(':') ? at.open : at.fixed.get(part);
      const junction = next ?? createJunction();
      if (part.startsWith(':')) at.open = junction;
      else at.fixed.set(part, junction);
      at = junction;
    }
    const names = parts.flatMap((part, at) =>
      part.startsWith(':') ? [[at, part.slice(1)] as const] : [],
    );
    at.end = { entry, names };
  }

  /** Null when no route takes it. `path` has no query, and can be decoded (ambiguity.ts). */
  find(method: string, path: string): Found<Entry> | null {
    const start = this.#starts.get(method === 'HEAD' ? 'GET' : method);
    const parts = path.split('/');
    const decoded = path.includes('%') ? parts.map(decodeURIComponent) : parts;
    const end =
      start === undefined ? null : (follow(start, decoded, 0) ?? this.#all(start, decoded));
    if (end === null) return null;
    const params: Record<string, string> = {};
    for (const [at, name] of end.names) params[name] = decoded[at]!;
    return { entry: end.entry, params };
  }

  /** Clients read the item of an empty name where they mean all of them. */
  #all(start: Junction<Entry>, parts: readonly string[]): End<Entry> | null {
    const isOfEmptyName =
      parts.length > 2 && parts.at(-1) === '' && start === this.#starts.get('GET');
    if (!isOfEmptyName || follow(start, parts.with(-1, 'any'), 0) === null) return null;
    return follow(start, parts.slice(0, -1), 0);
  }

  /** The methods that a path answers to, for the `Allow` header of a 405. */
  methodsOf(path: string): string[] {
    return [...this.#starts.keys()]
      .filter((method) => this.find(method, path) !== null)
      .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  }
}

function createJunction<Entry>(): Junction<Entry> {
  return { fixed: new Map(), open: null, end: null };
}

/** Words come before open places, at every part. */
function follow<Entry>(
  from: Junction<Entry>,
  parts: readonly string[],
  at: number,
): End<Entry> | null {
  if (at === parts.length) return from.end;
  const part = parts[at]!;
  const word = from.fixed.get(part);
  const end = word === undefined ? null : follow(word, parts, at + 1);
  const isOpen = from.open !== null && part !== '' && part.length <= parameterCharsMax;
  return end ?? (isOpen ? follow(from.open!, parts, at + 1) : null);
}
