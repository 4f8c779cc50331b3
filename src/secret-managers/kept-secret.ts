/** Knows what a secret manager keeps, which part of it is meant, and why it cannot be had. */

/** A text, or fields by name. */
export type ManagedSecret = string | Readonly<Record<string, unknown>>;

/** Nothing in it quotes a credential or a value; it may name addresses, so that it is for logs. */
export class SecretUnreadable extends Error {
  override name = 'SecretUnreadable';
  /** Whether nobody has said no: what was read before may still be right. */
  readonly isSilence: boolean;

  constructor(message: string, isSilence: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSilence = isSilence;
  }
}

/**
 * The text of one field, or of the whole where none is named: fields are the JSON of them, one field by
 * itself what it holds. A line end at the end is dropped.
 *
 * @throws SecretUnreadable where there is no such field
 */
export function textOf(kept: ManagedSecret, field: string | null): string {
  const text = asText(field === null ? wholeOf(kept) : fieldOf(kept, field));
  return text.replace(/\r?\n$/, '');
}

function wholeOf(kept: ManagedSecret): unknown {
  if (typeof kept === 'string') return kept;
  const values = Object.values(kept);
  return values.length === 1 ? values[0] : kept;
}

function fieldOf(kept: ManagedSecret, field: string): unknown {
  const fields = typeof kept === 'string' ? parsed(kept) : kept;
  const isThere = typeof fields === 'object' && fields !== null && Object.hasOwn(fields, field);
  if (!isThere) throw new SecretUnreadable(`the secret has no field ${field}`, false);
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
