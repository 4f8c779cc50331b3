/** Finds the objects that a multipart form names, and rejects forms that could name others unseen. */
import { Busboy } from '@fastify/busboy';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Exchange } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type Reference, referencesOf } from './owned-references.ts';

const limits = { fields: 200, files: 600, parts: 800, fieldNameSize: 200, fieldSize: 64 * 1024 };

/** Permits only the `boundary` parameter, because two parameters are ambiguous; boundaries have at most 70 characters (RFC 2046). */
const isForm = /^multipart\/form-data\s*;\s*boundary=(?:"[^"\\]{1,70}"|[^\s;,"]{1,70})\s*$/i;

/**
 * Returns nothing for a JSON body.
 *
 * @throws GatewayError for a body that is not a valid form
 */
export async function formReferences(
  { body, request, isJson }: Pick<Exchange, 'body' | 'request' | 'isJson'>,
  requested: ObjectKind,
): Promise<readonly Reference[]> {
  if (body === null || body.length === 0 || isJson) return [];
  const contentType = request.headers['content-type'] ?? '';
  if (!isForm.test(contentType)) {
    const message = 'Requests for stored objects must be JSON or multipart/form-data';
    throw new GatewayError('invalid_request', message, 'content-type');
  }
  const fields = await fieldsOf(body, contentType);
  return fields.flatMap(([name, value]) => referencesOf(nested(name, value), requested));
}

function fieldsOf(body: Buffer, contentType: string): Promise<[string, string][]> {
  const { promise, resolve, reject } = Promise.withResolvers<[string, string][]>();
  const fields: [string, string][] = [];
  const refuse = (): void =>
    reject(
      new GatewayError('invalid_request', 'The body is not a valid form or has too many parts'),
    );
  const form = new Busboy({ headers: { 'content-type': contentType }, limits });
  form.on('field', (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) refuse();
    else fields.push([name, value]);
  });
  form.on('file', (name, stream) => {
    stream.on('error', refuse).resume();
    if (isNamedLikeId(name)) refuse();
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit', 'error'] as const) {
    form.on(event, refuse);
  }
  form.on('finish', () => resolve(fields));
  form.end(body);
  return promise;
}

/** Whether a file part has the name of an id, which some readers treat as a field. */
function isNamedLikeId(name: string): boolean {
  return /ids?\]?$/i.test(name);
}

/** Converts a name such as `input_reference[file_id]` to nested objects. */
function nested(name: string, value: string): Readonly<Record<string, unknown>> {
  const words = name.split(/[[\].]+/).filter((word) => word !== '' && !/^\d+$/.test(word));
  return words.reduceRight<unknown>((inner, word) => ({ [word]: inner }), value) as Readonly<
    Record<string, unknown>
  >;
}
