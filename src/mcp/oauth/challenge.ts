/** Reads the challenge of a WWW-Authenticate header (RFC 9110, Section 11.6.1) for the scheme Bearer. */

export interface BearerChallenge {
  readonly error: string | null;
  readonly scope: string | null;
  readonly resourceMetadata: string | null;
}

const none: BearerChallenge = { error: null, scope: null, resourceMetadata: null };
const headerCharsMax = 8192;
const parameter = /([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/g;

/** All parameters are null without such a challenge. */
export function readBearerChallenge(header: string | string[] | undefined): BearerChallenge {
  for (const line of [header ?? []].flat()) {
    const start = /(?:^|,)\s*bearer(?=\s)/i.exec(line);
    if (start === null || line.length > headerCharsMax) continue;
    const values = new Map<string, string>();
    for (const [, name, quoted, plain] of line.slice(start.index).matchAll(parameter)) {
      const value = quoted?.replace(/\\(.)/g, '$1') ?? plain!;
      if (!values.has(name!.toLowerCase())) values.set(name!.toLowerCase(), value);
    }
    return {
      error: values.get('error') ?? null,
      scope: readScope(values.get('scope')),
      resourceMetadata: values.get('resource_metadata') ?? null,
    };
  }
  return none;
}

/** Null for a text that is not a scope (RFC 6749, Section 3.3). */
export function readScope(text: unknown): string | null {
  const isScope =
    typeof text === 'string' &&
    text.length <= 2048 &&
    /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text);
  return isScope ? text : null;
}
