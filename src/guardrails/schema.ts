/** Knows how a JSON Schema of 2020-12 is made ready to judge values, its patterns run in linear time. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';

const schemasMax = 100;
const ready = new Map<string, (value: unknown) => boolean>();

/**
 * `text` is the schema as JSON. Formats are not judged, and references lead nowhere outside.
 *
 * @throws Error where it is no schema
 */
export function schemaOf(text: string): (value: unknown) => boolean {
  const known = ready.get(text);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({
    ...{ strict: false, validateFormats: false, logger: false },
    code: { regExp: Object.assign(linear, { code: 'linear' }) },
  });
  const validate = ajv.compile(JSON.parse(text) as object);
  const judge = (value: unknown): boolean => validate(value) === true;
  if (ready.size === schemasMax) ready.delete(ready.keys().next().value!);
  ready.set(text, judge);
  return judge;
}

function linear(pattern: string) {
  const made = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { test: (text: string) => made.matcher(text).find() };
}
