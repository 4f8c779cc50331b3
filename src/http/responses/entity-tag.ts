/** Parses entity tags of conditional requests, and makes those of documents. */
import { createHash } from 'node:crypto';

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

/** The tag of bytes that are the same for all readers; weak, because all their codings share it. */
export function weakTagOf(bytes: Buffer): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}
