/** Finds the secrets in a config document, and the places to which each of them is sent. */
import { checkPlace } from '../guardrails/check-secrets.ts';
import { matchesPattern, pathIdentifier, replaceValues } from '../manifests/path-patterns.ts';
import { originOf } from '../secrets/secret-destinations.ts';
import { addressIn, usualAddress } from '../services/service-address.ts';
import { newId } from '../wire/ids.ts';
import type { ConfigDocument } from './config.ts';
import { checkFields, configSecrets, parameterFields } from './config-secret-fields.ts';
import { buildConfigTree, type ConfigNode, type TargetSettings } from './config-tree.ts';

/** Keys of a document that lead to a value; indexes are decimal numbers. */
type ConfigPath = readonly string[];

/** Last keys of the patterns, and the keys above a last key that may be any: other paths need no comparison. */
const lastKeys = new Set(configSecrets.map((pattern) => pattern.split('.').at(-1)!));
const holders = new Set(
  configSecrets
    .filter((pattern) => pattern.endsWith('.*'))
    .map((pattern) => pattern.split('.').at(-2)!),
);

/** Whether a text at this path is a secret. */
function isConfigSecret(path: ConfigPath): boolean {
  const isNear = lastKeys.has(path.at(-1) ?? '') || holders.has(path.at(-2) ?? '');
  return isNear && configSecrets.some((pattern) => matchesPattern(pattern, path));
}

/** Whether a secret is among the parameters of requests. */
export function isParameterSecret(path: ConfigPath): boolean {
  return parameterFields.some((field) => field === levelFieldOf(path));
}

/** The field of its level that contains a value. */
function levelFieldOf(path: ConfigPath): string | undefined {
  const at = path.findIndex((key, index) => index % 2 === 0 && key !== 'targets');
  return path[at];
}

/**
 * Copies a document with each value replaced that is at the path of a secret; `undefined` keeps the value
 * and what is in it. Parts without replaced values are shared with the document.
 */
export function mapConfigSecrets(
  document: ConfigDocument,
  replace: (value: unknown, path: ConfigPath) => unknown,
): ConfigDocument {
  return replaceValues(document, (value, path) =>
    value === null || !isConfigSecret(path) ? undefined : replace(value, [...path]),
  );
}

/**
 * Returns the places to which each secret is sent, by the {@link pathIdentifier} of the secret: the address of the
 * check that contains it, or provider and address of every target that uses it, inherited settings
 * included. A secret without effect has none.
 *
 * @param isSecretValue whether a value at the path of a secret is one
 */
export function secretDestinations(
  document: ConfigDocument,
  isSecretValue: (value: unknown) => boolean,
): ReadonlyMap<string, ReadonlySet<string>> {
  const destinations = new Map<string, Set<string>>();
  // Unguessable, so that no value of the document can be taken for one.
  const byMark = new Map<string, Set<string>>();
  const marked = mapConfigSecrets(document, (value, path) => {
    if (!isSecretValue(value)) return undefined;
    const places = new Set<string>(checkPlaces(document, path));
    destinations.set(pathIdentifier(path), places);
    const mark = newId();
    byMark.set(mark, places);
    return mark;
  });
  if (byMark.size === 0) return destinations;
  const marks = new MarksByValue(byMark);
  for (const settings of leavesOf(buildConfigTree(marked))) {
    const { apiKey, account, defaultParams, overrideParams } = settings;
    const place = targetPlace(settings);
    for (const used of [apiKey, account, defaultParams, overrideParams]) {
      for (const mark of marks.in(used)) byMark.get(mark)?.add(place);
    }
  }
  return destinations;
}

function* leavesOf(root: ConfigNode): Generator<TargetSettings> {
  const pending: ConfigNode[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind === 'leaf') yield node.settings;
    else pending.push(...node.targets);
  }
}

function targetPlace(settings: TargetSettings): string {
  const { provider, virtualKey, isPassthrough } = settings;
  const address = addressIn(settings, usualAddress(provider ?? ''));
  const origin = address === null ? null : originOf(address);
  return JSON.stringify([provider, virtualKey, isPassthrough, origin]);
}

/** The place of a secret in a check, such as a header of a webhook; none for other secrets. */
function checkPlaces(document: ConfigDocument, path: ConfigPath): string[] {
  const field = levelFieldOf(path);
  if (!checkFields.some((name) => name === field)) return [];
  const parameters = valueAt(document, path.slice(0, -2)) as Readonly<Record<string, unknown>>;
  const check = valueAt(document, path.slice(0, -3));
  // The id of a check that a guardrail contains directly is its key.
  const id = path.at(-3) === 'parameters' ? memberOf(check, 'id') : path.at(-3);
  return [checkPlace(id, parameters)];
}

function valueAt(document: unknown, path: ConfigPath): unknown {
  return path.reduce(memberOf, document);
}

function memberOf(value: unknown, key: string): unknown {
  const isHolder = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isHolder ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

/** Finds marks in values. Targets share what they inherit, so the marks of each object are found once. */
class MarksByValue {
  readonly #known: Pick<ReadonlyMap<string, unknown>, 'has'>;
  readonly #byObject = new Map<object, readonly string[]>();

  constructor(known: Pick<ReadonlyMap<string, unknown>, 'has'>) {
    this.#known = known;
  }

  /** Recursion is bounded by the depth of JSON bodies (http/input/json.ts). */
  in(value: unknown): readonly string[] {
    if (typeof value === 'string') return this.#known.has(value) ? [value] : [];
    if (typeof value !== 'object' || value === null) return [];
    let marks = this.#byObject.get(value);
    if (marks === undefined) {
      marks = Object.values(value).flatMap((inner) => this.in(inner));
      this.#byObject.set(value, marks);
    }
    return marks;
  }
}
