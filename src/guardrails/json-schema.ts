/** Compiles JSON Schemas (2020-12) whose patterns run in linear time. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';

const schemasMax = 100;
const compiled = new Map<string, (value: unknown) => boolean>();

/**
 * Compiles a schema from its JSON text. Formats are not validated, and external references are not
 * resolved.
 *
 * @throws Error when the text is not a valid schema
 */
export function compileSchema(text: string): (value: unknown) => boolean {
  const cached = compiled.get(text);
  if (cached !== undefined) return cached;
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    logger: false,
    code: { regExp: Object.assign(linearRegExp, { code: 'linear' }) },
  });
  const validate = ajv.compile(JSON.parse(text) as object);
  const isValid = (value: unknown): boolean => validate(value) === true;
  if (compiled.size === schemasMax) compiled.delete(compiled.keys().next().value!);
  compiled.set(text, isValid);
  return isValid;
}

function linearRegExp(pattern: string) {
  const regex = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { test: (text: string) => regex.matcher(text).find() };
}
