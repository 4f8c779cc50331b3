/** Knows by their names the keys of free-form documents whose values would lie readable in the database. */

const secretName =
  /(?:secret|password|passphrase|private_?key|api_?key|access_?token|refresh_?token)$/i;

/** Whether a value under this key is to be given as a secret, and not as text. */
export function isSecretName(key: string): boolean {
  return secretName.test(key);
}
