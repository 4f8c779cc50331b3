/** Lists the secret members of checks, and names the place to which the secrets of a check are sent. */
import { isObject } from '../json/read-object.ts';
import { matchesPattern, pathIdentifier, replaceValues } from '../manifests/path-patterns.ts';
import { originOf } from '../secrets/secret-destinations.ts';
import { secretMask } from '../secrets/secret-fields.ts';

/** Members of one check: the headers of its address, and the account of a partner. */
export const checkSecrets = ['headers.*', 'credentials.*'];

/** Members of a check that contain the address which its secrets are sent to. */
const checkAddresses = ['webhookURL', 'logURL', 'endpoint'];

/** Credentials that select the host to which the other ones are sent. */
const hostCredentials = [
  'apiDomain',
  'apiEndpoint',
  'baseUrl',
  'calypsoUrl',
  'customHost',
  'domain',
  'resourceName',
];

/** Dotted patterns (model/manifests/path-patterns.ts) of all secrets in a guardrail. Only texts are secrets. */
export const guardrailSecrets: readonly string[] = checkSecrets.map(
  (pattern) => `checks.*.parameters.${pattern}`,
);

type Members = Readonly<Record<string, unknown>>;

/** Identifies where a check sends its secrets: equal texts stand for the same check at the same origins. */
export function checkPlace(id: unknown, parameters: Members): string {
  const addresses = checkAddresses.map((name) => {
    const address = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    return typeof address === 'string' ? originOf(address) : null;
  });
  return JSON.stringify([id ?? null, addresses, hostsIn(parameters.credentials)]);
}

/**
 * The hosts in credentials. A stored one is sealed, and a mask stands for it, so that only a text that is sent
 * names another host.
 */
function hostsIn(credentials: unknown): readonly unknown[] {
  if (!isObject(credentials)) return [];
  return [...hostCredentials]
    .filter((name) => Object.hasOwn(credentials, name))
    .map((name) => [name, isStoredOrMasked(credentials[name]) ? null : credentials[name]]);
}

function isStoredOrMasked(value: unknown): boolean {
  return value === secretMask || (isObject(value) && Object.hasOwn(value, '$sealed'));
}

/** The part of a guardrail that contains secrets. */
export interface CheckList {
  readonly checks: readonly { readonly id?: unknown; readonly parameters?: Members | undefined }[];
}

/** Copies a list of checks with each value replaced that is at the path of a secret; `undefined` keeps it. */
export function mapCheckSecrets<D extends CheckList>(
  document: D,
  replace: (value: unknown, path: readonly string[]) => unknown,
): D {
  return replaceValues({ ...document } as Members, (value, path) => {
    const isSecret = guardrailSecrets.some((pattern) => matchesPattern(pattern, path));
    return value === null || !isSecret ? undefined : replace(value, [...path]);
  }) as Members as D;
}

/** Returns the place to which each secret is sent, by the {@link pathIdentifier} of the secret. */
export function checkSecretPlaces(
  document: CheckList,
  isSecretValue: (value: unknown) => boolean,
): ReadonlyMap<string, ReadonlySet<string>> {
  const places = new Map<string, ReadonlySet<string>>();
  mapCheckSecrets(document, (value, path) => {
    const check = document.checks[Number(path[1])];
    if (isSecretValue(value)) {
      places.set(pathIdentifier(path), new Set([checkPlace(check?.id, check?.parameters ?? {})]));
    }
    return undefined;
  });
  return places;
}
