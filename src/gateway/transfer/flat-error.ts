/** Converts errors to the flat form: the four strings `message`, `type`, `param` and `code` at the top level. */
import { readJsonObject } from '../../model/json/read-object.ts';

/** The fields of an error whose absent members are null. */
interface ErrorMembers {
  readonly message: unknown;
  readonly type: unknown;
  readonly param: unknown;
  readonly code: unknown;
}

/** Characters of a provider's message that the flat form holds. */
const messageCharactersMax = 4_096;

/** An absent `param` or `code` is an empty string. */
export function flatErrorText({ message, type, param, code }: ErrorMembers): string {
  return JSON.stringify({
    message: textOf(message).slice(0, messageCharactersMax),
    type: textOf(type),
    param: textOf(param),
    code: textOf(code),
  });
}

/** Returns the flat form of a provider's error, which may be wrapped in `error`, flat, a text or empty. */
export function flatProviderError(body: Buffer, status: number): Buffer {
  const sent = readJsonObject(body.toString('utf8'));
  const error = sent?.error ?? sent ?? {};
  const members: Partial<ErrorMembers> = typeof error === 'object' ? error : { message: error };
  const stated = members.message ?? sent?.message ?? sent?.detail;
  const message = textOf(stated) || `The provider responded with the status ${status}`;
  const type = members.type ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const { param, code } = members;
  return Buffer.from(flatErrorText({ message, type, param, code: code ?? String(status) }));
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
