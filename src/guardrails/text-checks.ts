/** Knows the checks that look for something in a text: words, patterns, JSON; and the one that takes it out. */
import { setImmediate } from 'node:timers/promises';
import { CheckError, type Judge, saying, textOf } from './check.ts';
import { quantified } from './request-checks.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Maker = (parameters: Parameters, searches: Searches) => Judge;

/** `/pattern/flags`, as replace rules may be written. */
const delimited = /^\/(.+)\/([a-z]*)$/s;
/** Characters that are searched before others get a turn. */
const charactersInTurn = 4_000_000;

const regexMatch: Maker =
  ({ rule, not }, searches) =>
  async (subject) => {
    const text = textOf(subject);
    if (text === '') throw new CheckError('there is no text to judge');
    const isFound = await searches.find(String(rule), '', text);
    return saying(isFound, not, `the pattern is ${isFound ? '' : 'not '}found`);
  };

const regexReplace: Maker = (parameters, searches) => {
  const { rule, redactText = '[REDACTED]', failOnDetection } = parameters;
  const [, pattern = String(rule), flags = ''] = delimited.exec(String(rule)) ?? [];
  const kept = [...'ims'].filter((flag) => flags.includes(flag)).join('');
  return async ({ passages }) => {
    const texts: string[] = [];
    for (const { text } of passages) {
      texts.push(await searches.replace(pattern, kept, text, String(redactText)));
    }
    const isFound = passages.some(({ text }, at) => text !== texts[at]);
    const explanation = isFound ? 'what was found is replaced' : 'nothing is found';
    return {
      ...{ passes: !(failOnDetection === true && isFound), explanation },
      texts: isFound ? texts : undefined,
    };
  };
};

const contains: Maker =
  ({ words, operator }) =>
  async (subject) => {
    const text = textOf(subject);
    const wanted = words as readonly string[];
    const has: boolean[] = [];
    let characters = 0;
    for (const word of wanted) {
      has.push(text.includes(word));
      characters += text.length;
      if (characters > charactersInTurn) {
        characters = 0;
        await setImmediate();
      }
    }
    const found = has.filter(Boolean).length;
    const explanation = `${found} of ${wanted.length} words are there`;
    return { passes: quantified(operator, 'any', has), explanation };
  };

const jsonKeys: Maker =
  ({ keys, operator }, searches) =>
  async (subject) => {
    const held = await searches.keysIn(textOf(subject), keys as readonly string[]);
    if (held.length === 0) return { passes: false, explanation: 'there is no JSON object' };
    const passes = held.some((has) => quantified(operator, 'any', has));
    return { passes, explanation: `whether ${String(operator ?? 'any')} of the keys are there` };
  };

const jsonSchema: Maker = ({ schema, not }, searches) => {
  const document = typeof schema === 'string' ? schema : JSON.stringify(schema);
  return async (subject) => {
    const validity = await searches.validityIn(textOf(subject), document);
    if (validity === 'none') return { passes: false, explanation: 'there is no JSON' };
    const isValid = validity === 'valid';
    return saying(isValid, not, `the JSON is ${isValid ? '' : 'not '}as the schema says`);
  };
};

/** Sets words before what a user said last. */
const addPrefix: Maker =
  ({ prefix, applyToRole = 'user', onlyIfEmpty, addToExisting }) =>
  ({ side, passages }) => {
    if (side !== 'input' || applyToRole !== 'user') {
      throw new CheckError('a prefix is set before what a user says, nowhere else');
    }
    const [first, ...rest] = passages.map(({ text }) => text);
    const isSet =
      first !== undefined && (first === '' || (onlyIfEmpty !== true && addToExisting !== false));
    const texts = isSet ? [`${String(prefix)}${first}`, ...rest] : undefined;
    return { passes: true, explanation: `the prefix is ${isSet ? '' : 'not '}set`, texts };
  };

export const textChecks: Readonly<Record<string, Maker>> = {
  'default.regexmatch': regexMatch,
  'default.regexreplace': regexReplace,
  'default.contains': contains,
  'default.addprefix': addPrefix,
  'default.jsonkeys': jsonKeys,
  'default.jsonschema': jsonSchema,
};
