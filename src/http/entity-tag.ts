/** Knows how entity tags read: whether a caller already holds an answer, and which version one names. */

/** RFC 9110 13.1.2: any of a list, or `*`; a weak tag compares as the strong one. */
export function holdsTag(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const offered = ifNoneMatch.split(',').map((one) => strong(one.trim()));
  return offered.includes('*') || offered.includes(strong(tag));
}

function strong(tag: string): string {
  return tag.replace(/^W\//, '');
}

/** One version as its tag writes it, or `*` for any. */
export const versionTagPattern = /^(?:\*|(?:W[/])?"([0-9]{1,10})")$/;
