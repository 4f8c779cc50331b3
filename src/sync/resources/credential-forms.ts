/** Recognises names and texts that look like credentials. */

const credentialName =
  /(?:^|[-_])(?:authorization|auth|token|secret|password|passwd|cookie|credential|credentials|apikey|key|session|signature)(?:$|[-_])/i;

/** Returns whether a header of this name usually carries a credential. */
export function isCredentialName(name: string): boolean {
  return credentialName.test(name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2'));
}

/** Prefixes of well-known credentials, followed by enough characters to be real. */
const credentialForms = [
  'sk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}',
  '(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}',
  'gh[pousr]_[A-Za-z0-9]{30,}',
  'github_pat_[A-Za-z0-9_]{30,}',
  'glpat-[A-Za-z0-9_-]{18,}',
  'xox[abeprs]-[A-Za-z0-9-]{10,}',
  String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
  'AIza[A-Za-z0-9_-]{30,}',
  'hf_[A-Za-z0-9]{30,}',
  'npm_[A-Za-z0-9]{30,}',
  String.raw`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`,
];
const credential = new RegExp(
  `(?:^|[^A-Za-z0-9])(?:${credentialForms.join('|')})|-----BEGIN [A-Z ]*PRIVATE KEY-----`,
);
/** No credential of the list is shorter. */
const credentialLengthMin = 15;

/** Returns whether a text contains something in the form of a well-known credential. */
export function looksLikeCredential(text: string): boolean {
  return text.length >= credentialLengthMin && credential.test(text);
}

const secretField =
  /(?:secret|password|passphrase|private_?key|api_?key|access_?key|access_?token|refresh_?token)$/i;

/**
 * Returns whether a value outside declared secrets may be one: somebody may have written it into a
 * free-form document, and a plan must not show it.
 */
export function mayBeCredential(segments: readonly string[], text: string): boolean {
  const name = segments.findLast((key) => !/^\d+$/.test(key)) ?? '';
  const isHeader = segments.some((key) => /^(?:custom_)?headers$/i.test(key));
  return (
    secretField.test(name) || (isHeader && isCredentialName(name)) || looksLikeCredential(text)
  );
}
