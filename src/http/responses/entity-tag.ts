/** Parses entity tags of conditional requests. */

/** Weak comparison with any tag of the list, or `*` (RFC 9110 13.1.2). */
export function holdsTag(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const offered = ifNoneMatch.split(',').map((one) => strong(one.trim()));
  return offered.includes('*') || offered.includes(strong(tag));
}

function strong(tag: string): string {
  return tag.replace(/^W\//, '');
}

/** A version number in quotes, or `*` for any version; weak tags never match a write (RFC 9110 13.1.1). */
export const versionTagPattern = /^(?:\*|"([0-9]{1,10})")$/;
