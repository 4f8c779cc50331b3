/** Finds every text in a JSON value: every string that is not known to be something else. */

import { isRawJSON } from '../../model/json/raw-json.ts';
import type { Slices } from '../../slices.ts';
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
import {
  isEscapedJson,
  jsonPartsOf,
  plainJson,
  type StoredText,
  textInBase64,
} from './stored-text.ts';

/** Maximum nesting of a judged document; deeper ones are refused, because their texts cannot be judged. */
const nestingMax = 100;

/** Steps of the paths of all texts, each of which takes memory. */
const pathStepsMax = 4_000_000;
/** Values of JSON within texts, which are parsed on their own. */
const jsonPartsMax = 100_000;

/** The message says what the document is or has. */
export class TextsUnreadable extends Error {
  override name = 'TextsUnreadable';
}

/**
 * Meaning of member names in a part of the document: those of the format, keywords of a JSON schema,
 * schemas by names of the caller, or data whose names the caller chooses.
 */
type Region = 'format' | 'schema' | 'schemas' | 'data';

/** The member that contains a value. */
interface Place {
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
 * @throws TextsUnreadable
 */
export function textsIn(value: unknown, start: WalkStart, found: Passage[] = []): Passage[] {
  const place = placeOf(value, start);
  if (place.isAnswer && repeatingMembers.has(place.name)) return found;
  new TextWalk(start.path, found).visit(value, place);
  return found;
}

/** {@link textsIn} that can be interrupted, for long documents. */
export function* findTextsIn(value: unknown, start: WalkStart, found: Passage[]): Slices<void> {
  yield* new TextWalk(start.path, found).visitInSlices(value, placeOf(value, start), 0);
}

/** Levels that are walked with interruptions, each of which costs more the deeper it is. */
const slicedLevels = 6;
/** Items between two interruptions. */
const slicedItems = 200;

function placeOf(
  value: unknown,
  { path, isFormat = false, isAside = false, isAnswer = false }: WalkStart,
): Place {
  const name = String(path.findLast((step) => typeof step === 'string') ?? '');
  return {
    name,
    region: isFormat ? 'format' : regionBelow('format', name, value),
    owner: { name: '', type: undefined },
    isAside: isAside || asideMembers.has(name),
    isAnswer,
  };
}

class TextWalk {
  /** Path of the current value. Paths are copied for texts only, because most values are none. */
  readonly #path: (string | number)[];
  readonly #found: Passage[];
  #pathSteps = 0;
  #jsonParts = 0;

  constructor(path: PassagePath, found: Passage[]) {
    this.#path = [...path];
    this.#found = found;
  }

  visit(value: unknown, place: Place): void {
    if (typeof value === 'string') this.#string(value, place);
    if (typeof value !== 'object' || value === null || isRawJSON(value)) return;
    if (this.#path.length > nestingMax) {
      throw new TextsUnreadable(`is nested more than ${nestingMax} levels deep`);
    }
    if (Array.isArray(value)) this.#list(value, place);
    else this.#members(value, place);
  }

  /** {@link visit} of a request, interrupted in the outer levels. */
  *visitInSlices(value: unknown, place: Place, level: number): Slices<void> {
    if (level === slicedLevels || typeof value !== 'object' || value === null) {
      this.visit(value, place);
      return;
    }
    const path = this.#path;
    const isList = Array.isArray(value);
    const placeBelow = isList ? () => place : this.#placesBelow(value, place);
    let count = 0;
    for (const [step, below] of isList ? value.entries() : Object.entries(value)) {
      count += 1;
      if (count % slicedItems === 0) yield;
      path.push(step);
      if (!isList) addNameOf(path, this.#found);
      yield* this.visitInSlices(below, placeBelow(String(step), below), level + 1);
      path.pop();
    }
  }

  #list(items: readonly unknown[], place: Place): void {
    const path = this.#path;
    for (let at = 0; at < items.length; at += 1) {
      path.push(at);
      this.visit(items[at], place);
      path.pop();
    }
  }

  #members(value: object, place: Place): void {
    const path = this.#path;
    const placeBelow = this.#placesBelow(value, place);
    const { isAnswer, region } = place;
    for (const [name, below] of Object.entries(value)) {
      if (isAnswer && region === 'format' && repeatingMembers.has(name)) continue;
      path.push(name);
      addNameOf(path, this.#found);
      this.visit(below, placeBelow(name, below));
      path.pop();
    }
  }

  #placesBelow(value: object, { name: ownerName, region, isAnswer, ...place }: Place) {
    const type = member(value, 'type');
    const isThought = isAsideType(type) || member(value, 'thought') === true;
    const isAside = place.isAside || (region === 'format' && isThought);
    const owner = { name: ownerName, type };
    return (name: string, below: unknown): Place => ({
      name,
      owner,
      isAnswer,
      region: regionBelow(region, name, below),
      isAside: isAside || (region === 'format' && asideMembers.has(name)),
    });
  }

  #string(value: string, { name, region, owner, isAside }: Place): void {
    if (region === 'format' && isNonText(name, value, owner)) {
      const text = textInBase64Of(name, value);
      if (text !== null) this.#add(text, isAside, { value, encoding: 'base64' });
      return;
    }
    if (region === 'schema' && isSchemaWord(name, value)) return;
    const plain = this.#plainJson(value);
    this.#add(plain ?? value, isAside, plain === null ? undefined : { value, encoding: 'json' });
  }

  #plainJson(value: string): string | null {
    if (!isEscapedJson(value)) return null;
    this.#jsonParts += jsonPartsOf(value, jsonPartsMax - this.#jsonParts);
    if (this.#jsonParts >= jsonPartsMax) {
      throw new TextsUnreadable(`has ${jsonPartsMax} values or more in JSON within its texts`);
    }
    return plainJson(value);
  }

  #add(text: string, isAside: boolean, stored: StoredText | undefined): void {
    this.#pathSteps += this.#path.length;
    if (this.#pathSteps > pathStepsMax) {
      throw new TextsUnreadable('has too many texts that are nested deeply');
    }
    this.#found.push({ path: [...this.#path], text, isAside, stored });
  }
}

/** Documents may be texts in base64, whatever type they declare. */
function textInBase64Of(name: string, value: string): string | null {
  const isDocument =
    name === 'data' || name === 'bytes' || name === 'file_data' || value.startsWith('data:');
  return isDocument ? textInBase64(value) : null;
}

/** Adds the name of the member at `path` unless it is the name of a program: others can be sentences. */
export function addNameOf(path: PassagePath, found: Passage[]): void {
  const text = String(path.at(-1));
  if (/^[\w$.@:/-]{1,64}$/.test(text)) return;
  found.push({ path: [...path], text, isAside: true, isName: true });
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
