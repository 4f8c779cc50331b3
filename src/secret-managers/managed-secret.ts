/** Defines the secrets that secret managers return, and selects a field of them. */

/** A text, or values by field name. */
export type ManagedSecret = string | Readonly<Record<string, unknown>>;

/** The message quotes no credential or value, but may contain addresses; it is for logs only. */
export class SecretUnreadable extends Error {
  override name = 'SecretUnreadable';
  /** Whether the manager was unavailable, so that a cached value may still be valid. */
  readonly isUnavailable: boolean;

  constructor(message: string, isUnavailable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isUnavailable = isUnavailable;
  }
}

/**
 * Returns the text of one field. Without a field name, returns the only field, or all fields as JSON. A
 * final line break is removed.
 *
 * @throws SecretUnreadable when the field does not exist
 */
export function textOf(secret: ManagedSecret, field: string | null): string {
  const text = asText(field === null ? wholeOf(secret) : fieldOf(secret, field));
  return text.replace(/\r?\n$/, '');
}

function wholeOf(secret: ManagedSecret): unknown {
  if (typeof secret === 'string') return secret;
  const values = Object.values(secret);
  return values.length === 1 ? values[0] : secret;
}

function fieldOf(secret: ManagedSecret, field: string): unknown {
  const fields = typeof secret === 'string' ? parsed(secret) : secret;
  const exists = typeof fields === 'object' && fields !== null && Object.hasOwn(fields, field);
  if (!exists) throw new SecretUnreadable(`the secret has no field ${field}`, false);
  return (fields as Record<string, unknown>)[field];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
