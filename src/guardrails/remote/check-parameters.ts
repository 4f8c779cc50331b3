/** Reads the parameters that all remote checks have: credentials, address, time limit and reuse of verdicts. */
import { hash } from 'node:crypto';
import { isObject } from '../../model/json/read-object.ts';
import { CheckError } from '../check.ts';
import type { ServiceTerms } from './run-service.ts';

export type Parameters = Readonly<Record<string, unknown>>;

const defaultTimeoutMs = 5_000;
const defaultCacheSeconds = 60;
/** Shorter credentials occur in texts by accident. */
const secretCharsMin = 6;

/** The parameter, or `usual` if it is not a text. */
export function textParameter(parameters: Parameters, name: string, usual = ''): string {
  const value = parameters[name];
  return typeof value === 'string' && value !== '' ? value : usual;
}

export function numberParameter(parameters: Parameters, name: string, usual: number): number {
  const value = parameters[name];
  return typeof value === 'number' ? value : usual;
}

/** The texts in a list; empty for anything else. */
export function textsParameter(parameters: Parameters, name: string): readonly string[] {
  const value = parameters[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function checkCredentials({ credentials }: Parameters): Parameters {
  return isObject(credentials) ? credentials : {};
}

/** @throws CheckError when the check has none of the credentials */
export function requireCredential(parameters: Parameters, ...names: readonly string[]): string {
  const credentials = checkCredentials(parameters);
  const found = names.map((name) => textParameter(credentials, name)).find((value) => value !== '');
  if (found !== undefined) return found.trim();
  throw new CheckError(`the check has no credentials.${names[0]}`);
}

/** The address of the service without a slash at its end. */
export function serviceEndpoint(parameters: Parameters, usual: string): string {
  return textParameter(parameters, 'endpoint', usual).replace(/\/+$/, '');
}

/** `usualCacheSeconds` is how long verdicts are reused unless the check says otherwise. */
export function serviceTerms(
  id: string,
  parameters: Parameters,
  usualCacheSeconds = defaultCacheSeconds,
): ServiceTerms {
  return {
    check: hash('sha256', JSON.stringify([id, parameters]), 'base64'),
    timeoutMs: numberParameter(parameters, 'timeout', defaultTimeoutMs),
    cacheMs: numberParameter(parameters, 'cacheSeconds', usualCacheSeconds) * 1000,
    secrets: [...secretTexts(parameters.credentials), ...secretTexts(parameters.headers)],
  };
}

function secretTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length < secretCharsMin ? [] : [value];
  return isObject(value) ? Object.values(value).flatMap(secretTexts) : [];
}
