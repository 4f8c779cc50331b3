/** Converts errors of providers to the form of the caller: flat, with four strings at the top level, or that of AWS. */
import { readJsonObject } from '../../model/json/read-object.ts';
import { awsErrorType } from '../../model/services/aws-errors.ts';

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

/** Whether errors of providers are rewritten for a caller of this form. */
export function restatesErrors(form: string): boolean {
  return form === 'flat' || form === 'aws';
}

/** Returns the error of a provider, which may be wrapped in `error`, flat, a text or empty, in the form of the caller. */
export function restatedError(form: string, body: Buffer, status: number): Buffer {
  const sent = readJsonObject(body.toString('utf8'));
  const error = sent?.error ?? sent ?? {};
  const members: Partial<ErrorMembers> = typeof error === 'object' ? error : { message: error };
  const stated = members.message ?? sent?.message ?? sent?.detail;
  const message = textOf(stated) || `The provider responded with the status ${status}`;
  const type = members.type ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  if (form === 'aws') return Buffer.from(awsErrorText(message, status, rest(sent)));
  const { param, code } = members;
  return Buffer.from(flatErrorText({ message, type, param, code: code ?? String(status) }));
}

/** The results of guardrails are kept. */
function rest(sent: Readonly<Record<string, unknown>> | null): Readonly<Record<string, unknown>> {
  return sent?.hook_results === undefined ? {} : { hook_results: sent.hook_results };
}

/** SDKs of AWS read the type of an error from `__type`. */
export function awsErrorText(
  message: string,
  status: number,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const text = message.slice(0, messageCharactersMax);
  return JSON.stringify({ __type: awsErrorType(status), message: text, ...more });
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
