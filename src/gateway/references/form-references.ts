/** Finds the objects that a multipart form names, and rejects forms that could name others unseen. */
import type { Exchange } from '../callers/exchange.ts';
import { readFormFields } from '../transfer/form-fields.ts';
import { type Reference, type ReferenceForm, referencesOf } from './owned-references.ts';

/**
 * Returns nothing for a JSON body.
 *
 * @throws GatewayError for a body that is not a valid form
 */
export async function formReferences(
  { body, request, isJson }: Pick<Exchange, 'body' | 'request' | 'isJson'>,
  form: ReferenceForm,
): Promise<readonly Reference[]> {
  if (body === null || body.length === 0 || isJson) return [];
  const fields = await readFormFields(body, request.headers['content-type']);
  return fields.flatMap(([name, value]) => referencesOf(nestedField(name, value), form));
}

/** Converts a name such as `input_reference[file_id]` to nested objects. */
export function nestedField(name: string, value: string): Readonly<Record<string, unknown>> {
  const words = name.split(/[[\].]+/).filter((word) => word !== '' && !/^\d+$/.test(word));
  return words.reduceRight<unknown>((inner, word) => ({ [word]: inner }), value) as Readonly<
    Record<string, unknown>
  >;
}
