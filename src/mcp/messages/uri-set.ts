/** Recognises addresses of resources in other spellings, and addresses that a template covers. */

const foldsMax = 3;

export class UriSet {
  readonly #plain = new Set<string>();
  readonly #templates: RegExp[] = [];

  /** Entries with `{…}` are templates. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (entry.includes('{')) this.#templates.push(templatePattern(entry));
      else this.#plain.add(foldedUri(entry));
    }
  }

  /** Also true for another spelling that a server may read as the same address. */
  has(uri: string): boolean {
    const folded = foldedUri(uri);
    if (this.#plain.has(folded)) return true;
    return this.#templates.some((template) => template.test(folded));
  }
}

/** Each expression matches any text, because the gateway does not know how the server reads it. */
function templatePattern(template: string): RegExp {
  const literals = template.split(/\{[^}]*\}/).map((part) => escaped(part.toLowerCase()));
  return new RegExp(`^${literals.join('[^]*')}$`, 'u');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Without letter case, percent encoding and dot segments. */
function foldedUri(uri: string): string {
  let folded = uri.trim();
  for (let round = 0; round < foldsMax; round += 1) {
    const before = folded;
    folded = decoded(URL.parse(folded)?.href ?? folded).toLowerCase();
    if (folded === before) break;
  }
  return folded;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
