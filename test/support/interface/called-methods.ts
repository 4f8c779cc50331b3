/** Records which methods of a client a test has called. */

type Part = Record<string, unknown>;

export class CalledMethods<T extends object> {
  /** The client, with its calls recorded. */
  readonly client: T;
  readonly #known: string[] = [];
  readonly #called = new Set<string>();

  /** Objects below `client` are recorded as well where `isPart` returns true. */
  constructor(client: T, isPart: (value: object) => boolean) {
    this.client = this.#watch(client as Part, isPart) as T;
  }

  /** Methods that were never called, for example `configs.create`, in alphabetical order. */
  missed(): string[] {
    return this.#known.filter((name) => !this.#called.has(name)).sort();
  }

  /** Breadth-first, so that a shared object gets its shortest name. */
  #watch(client: Part, isPart: (value: object) => boolean): Part {
    const root = Object.create(client) as Part;
    const watchedOf = new Map<object, Part>([[client, root]]);
    for (const queue = [{ part: client, path: '' }]; queue.length > 0; ) {
      const { part, path } = queue.shift()!;
      const watched = watchedOf.get(part)!;
      for (const [name, value] of Object.entries(part)) {
        if (typeof value !== 'object' || value === null || !isPart(value)) continue;
        if (!watchedOf.has(value)) {
          const child = Object.create(value) as Part;
          watchedOf.set(value, child);
          this.#noteCalls(child, value as Part, `${path}${name}.`);
          queue.push({ part: value as Part, path: `${path}${name}.` });
        }
        watched[name] = watchedOf.get(value);
      }
    }
    return root;
  }

  #noteCalls(watched: Part, part: Part, path: string): void {
    const kind = Object.getPrototypeOf(part) as Part;
    if (kind === Object.prototype) return;
    const members = Object.getOwnPropertyDescriptors(kind);
    for (const [name, { value }] of Object.entries(members)) {
      if (typeof value !== 'function' || name === 'constructor') continue;
      this.#known.push(path + name);
      watched[name] = (...given: unknown[]): unknown => {
        this.#called.add(path + name);
        return value.apply(watched, given);
      };
    }
  }
}
