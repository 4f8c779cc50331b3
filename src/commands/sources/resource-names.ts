/** Parses resource names of a command line: KIND/NAME or KIND/WORKSPACE/NAME. */

import { managedNamePattern } from '../../managed-name.ts';
import { type KindName, kindNames, kinds } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import type { Identity } from '../../sync/resources/resource-set.ts';
import { type Option, quoted, refused } from '../shared/option.ts';

/** `--delete NAME,..` */
export function resourceNames(describe: string): Option<readonly Identity[]> {
  const read = (given: readonly string[], name: string): readonly Identity[] =>
    given.flatMap((text) => text.split(',').map((word) => readIdentity(word.trim(), name)));
  return { form: 'value', placeholder: 'KIND/NAME,..', fallback: 'none', describe, read };
}

/** Parses identity keys; skips keys that do not name a resource. */
export function namedResources(keys: readonly string[]): Identity[] {
  return keys.map((key) => readIdentity(key, '--delete'));
}

/** @throws Failure (invalid input) with a sentence whose subject is `name` (`--delete`) */
function readIdentity(word: string, name: string): Identity {
  const [kind = '', ...rest] = word.split('/');
  const isKind = (text: string): text is KindName => kindNames.some((known) => known === text);
  if (!isKind(kind)) {
    const fix = didYouMean(kind, kindNames) ?? `kinds are ${kindNames.join(', ')}`;
    throw refused(`${name} takes KIND/NAME or KIND/WORKSPACE/NAME, not ${quoted(word)}; ${fix}`);
  }
  const [resource = '', workspace = null] = rest.toReversed();
  const { workspaced } = kinds[kind];
  const fits =
    workspace === null ? workspaced !== 'required' : workspaced !== 'none' && rest.length === 2;
  if (fits && rest.every((part) => managedNamePattern.test(part))) {
    return { kind, workspace, name: resource };
  }
  const form = { none: '/NAME', required: '/WORKSPACE/NAME', optional: '/[WORKSPACE/]NAME' };
  throw refused(`${name} takes ${kind}${form[workspaced]} for a ${kind}, not ${quoted(word)}`);
}

/** `<resources..>`, one or more words. */
export function resourceWords(describe: string): Option<readonly Identity[]> {
  const read = (given: readonly string[], name: string): readonly Identity[] => {
    if (given.length === 0) throw refused(`${name} is missing: ${describe}`);
    return given.map((word) => readIdentity(word, `<${name}>`));
  };
  return { form: 'words', placeholder: '', describe, read };
}
