/** Recognises keys of free-form documents whose values look like secrets and would be stored in plain text. */

const secretName =
  /(?:secret|password|passphrase|private_?key|api_?key|access_?token|refresh_?token)$/i;

/** Whether a value under this key must be supplied as a secret instead of plain text. */
export function isSecretName(key: string): boolean {
  return secretName.test(key);
}
