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
  escapeBudget,
  plainJson,
  type StoredText,
  TextsUnreadable,
  textInBase64,
} from './stored-text.ts';

/** Maximum nesting of a judged document; deeper ones are refused, because their texts cannot be judged. */
const nestingMax = 100;

/** Digits of the shortest number that names somebody. */
const numberDigitsMin = 9;

/** Steps of the paths of all texts, each of which takes memory. */
const pathStepsMax = 4_000_000;

/**
 * Meaning of member names in a part of the document: those of the format, keywords of a JSON schema,
 * schemas by names of the caller, data whose names the caller chooses, or arguments and results of a tool, whose
 * names and numbers a model writes and reads like texts.
 */
type Region = 'format' | 'schema' | 'schemas' | 'data' | 'arguments';

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
  readonly #budget = escapeBudget();

  constructor(path: PassagePath, found: Passage[]) {
    this.#path = [...path];
    this.#found = found;
  }

  visit(value: unknown, place: Place): void {
    if (typeof value === 'string') this.#string(value, place);
    if (place.region === 'arguments') this.#number(value);
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
      if (!isList) this.#name(place);
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
      this.#name(place);
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
      region: isCallData(region, name, owner) ? 'arguments' : regionBelow(region, name, below),
      isAside: isAside || (region === 'format' && asideMembers.has(name)),
    });
  }

  /** Adds the name of the member at the current path. */
  #name({ region }: Place): void {
    const path = this.#path;
    if (region !== 'arguments') addNameOf(path, this.#found);
    else
      this.#found.push({ path: [...path], text: String(path.at(-1)), isAside: true, isName: true });
  }

  /** Adds a number that may be that of a card, a telephone or a person. */
  #number(value: unknown): void {
    if (typeof value !== 'number' && !isRawJSON(value)) return;
    const text = JSON.stringify(value);
    if (text.length >= numberDigitsMin) this.#add(text, true, undefined);
  }

  #string(value: string, { name, region, owner, isAside }: Place): void {
    if (region === 'format' && isNonText(name, value, owner)) {
      const text = textInBase64Of(name, value);
      const stored = { value, encoding: 'base64' } as const;
      if (text !== null) this.#add(plainJson(text, this.#budget) ?? text, isAside, stored);
      return;
    }
    if (region === 'schema' && isSchemaWord(name, value)) return;
    const plain = plainJson(value, this.#budget);
    this.#add(plain ?? value, isAside, plain === null ? undefined : { value, encoding: 'json' });
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
    case 'arguments':
    case 'data':
      return region;
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

/** Whether a member contains the arguments or the result of a tool. */
function isCallData(region: Region, name: string, { name: owner, type }: StringOwner): boolean {
  if (region !== 'format') return false;
  if (name === 'arguments') return true;
  if (name === 'input') return owner === 'toolUse' || /tool_use$/.test(String(type));
  if (name === 'args') return owner === 'functionCall' || type === 'function_call';
  return name === 'response' && owner === 'functionResponse';
}

/** A string, or a list such as `file_ids` or `include`. */
function isStringOrList(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === 'string';
  return value.every((item) => typeof item === 'string');
}
