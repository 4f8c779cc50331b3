/** Finds every text in a JSON value: every string that is not known to be something else. */
import {
  asideMembers,
  formatMembers,
  isAsideType,
  isNonText,
  isSchemaWord,
  repeatingMembers,
  type StringOwner,
  schemaMapMembers,
  schemaMembers,
  schemaPartMembers,
} from './non-text-members.ts';
import { member, type Passage, type PassagePath } from './passages.ts';
import { plainJson, type StoredText, textInBase64 } from './stored-text.ts';

/** Maximum nesting of a judged document; deeper ones are refused, because their texts cannot be judged. */
export const nestingMax = 100;

export class NestedTooDeeply extends Error {
  override name = 'NestedTooDeeply';
}

/**
 * Meaning of member names in a part of the document: those of the format, keywords of a JSON schema,
 * schemas by names of the caller, or data whose names the caller chooses.
 */
type Region = 'format' | 'schema' | 'schemas' | 'data';

interface Place {
  readonly path: PassagePath;
  /** Name of the member; items of a list have the name of the list. */
  readonly name: string;
  readonly region: Region;
  readonly owner: StringOwner;
  readonly isAside: boolean;
  readonly isAnswer: boolean;
}

/** Where a walk begins. */
export interface WalkStart {
  readonly path: PassagePath;
  /** Whether the names of members are those of the format even where the name of the value does not say so. */
  readonly isFormat?: boolean;
  /** Whether the texts accompany the message. */
  readonly isAside?: boolean;
  /** Whether the value is part of a response, whose probabilities repeat its texts. */
  readonly isAnswer?: boolean;
}

/**
 * Adds the texts of the value at `path` to `found`, in the order of the document, and returns `found`.
 *
 * @throws NestedTooDeeply
 */
export function textsIn(
  value: unknown,
  { path, isFormat = false, isAside = false, isAnswer = false }: WalkStart,
  found: Passage[] = [],
): Passage[] {
  const name = String(path.findLast((step) => typeof step === 'string') ?? '');
  if (isAnswer && repeatingMembers.has(name)) return found;
  const start = {
    path,
    name,
    region: isFormat ? 'format' : regionBelow('format', name, value),
    owner: { name: '', type: undefined },
    isAside: isAside || asideMembers.has(name),
    isAnswer,
  };
  visit(value, start, found);
  return found;
}

function visit(value: unknown, place: Place, found: Passage[]): void {
  if (typeof value === 'string') visitString(value, place.path, place, found);
  if (typeof value !== 'object' || value === null) return;
  if (place.path.length > nestingMax) throw new NestedTooDeeply();
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const item: unknown = value[at];
      const path = [...place.path, at];
      if (typeof item === 'string') visitString(item, path, place, found);
      else if (typeof item === 'object') visit(item, { ...place, path }, found);
    }
    return;
  }
  const { region, isAnswer } = place;
  const type = member(value, 'type');
  const isAside = place.isAside || (region === 'format' && isAsideType(type));
  const owner = { name: place.name, type };
  for (const [name, below] of Object.entries(value)) {
    if (isAnswer && region === 'format' && repeatingMembers.has(name)) continue;
    const path = [...place.path, name];
    addNameOf(path, found);
    const child = {
      path,
      name,
      owner,
      isAnswer,
      region: regionBelow(region, name, below),
      isAside: isAside || (region === 'format' && asideMembers.has(name)),
    };
    visit(below, child, found);
  }
}

function visitString(
  value: string,
  path: PassagePath,
  { name, region, owner, isAside }: Omit<Place, 'path'>,
  found: Passage[],
): void {
  if (region === 'format' && isNonText(name, value, owner)) {
    const text = textInBase64Of(name, value);
    if (text !== null) found.push({ path, text, isAside, stored: { value, encoding: 'base64' } });
    return;
  }
  if (region === 'schema' && isSchemaWord(name, value)) return;
  const plain = plainJson(value);
  const stored: StoredText | undefined = plain === null ? undefined : { value, encoding: 'json' };
  found.push({ path, text: plain ?? value, isAside, stored });
}

/** Documents may be texts in base64, whatever type they declare. */
function textInBase64Of(name: string, value: string): string | null {
  const isDocument = name === 'data' || name === 'file_data' || value.startsWith('data:');
  return isDocument ? textInBase64(value) : null;
}

/** Adds the name of the member at `path` unless it is the name of a program: others can be sentences. */
export function addNameOf(path: PassagePath, found: Passage[]): void {
  const text = String(path.at(-1));
  if (!/^[\w$.@:/-]{1,64}$/.test(text)) found.push({ path, text, isAside: true, isName: true });
}

function regionBelow(region: Region, name: string, value: unknown): Region {
  switch (region) {
    case 'data':
      return 'data';
    case 'schemas':
      return 'schema';
    case 'schema':
      if (isStringOrList(value) || schemaPartMembers.has(name)) return 'schema';
      return schemaMapMembers.has(name) ? 'schemas' : 'data';
    case 'format':
      if (schemaMembers.has(name)) return 'schema';
      return formatMembers.has(name) || isStringOrList(value) ? 'format' : 'data';
  }
}

/** A string, or a list such as `file_ids` or `include`. */
function isStringOrList(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === 'string';
  return value.every((item) => typeof item === 'string');
}
