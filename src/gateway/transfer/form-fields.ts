/** Reads the text fields of a multipart form, and rejects forms that another reader could read differently. */
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { meteredMembers } from '../../model/endpoints/metering.ts';
import { countPlainParts } from '../../model/wire/form-structure.ts';
import { LoopTurns } from '../../slices.ts';
import type { FormPart } from './form-parts.ts';
import { GatewayError } from './gateway-error.ts';
import { isEvaluatedMember } from './read-body.ts';

const limits = { fields: 200, files: 600, parts: 800, fieldNameSize: 200, fieldSize: 64 * 1024 };

/** Permits only the `boundary` parameter, because two parameters are ambiguous; boundaries have at most 70 characters (RFC 2046). */
const formType = /^multipart\/form-data\s*;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;,"]{1,70}))\s*$/i;

type FormField = readonly [name: string, value: string];

/**
 * Returns the fields in order.
 *
 * @throws GatewayError for a body that is not a valid form, or whose content type is another one
 */
export async function readFormFields(
  body: Buffer,
  contentType: string | undefined,
): Promise<readonly FormField[]> {
  const fields: FormField[] = [];
  await readForm(body, contentType, {
    field: (name, value) => fields.push([name, value]),
    file: (_, stream) => stream.resume(),
  });
  return fields;
}

/**
 * Returns the fields and files in order.
 *
 * @throws GatewayError as {@link readFormFields} does
 */
export async function readFormParts(
  body: Buffer,
  contentType: string | undefined,
): Promise<readonly FormPart[]> {
  const parts: FormPart[] = [];
  await readForm(body, contentType, {
    field: (name, value) => parts.push({ name, file: null, bytes: Buffer.from(value) }),
    file: (name, stream, file) => {
      const at = parts.push({ name, file, bytes: Buffer.alloc(0) }) - 1;
      const chunks: Buffer[] = [];
      stream
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          parts[at] = { name, file, bytes: Buffer.concat(chunks) };
        });
    },
  });
  return parts;
}

interface PartReader {
  readonly field: (name: string, value: string) => void;
  /** Must read the stream. */
  readonly file: (name: string, stream: Readable, file: NonNullable<FormPart['file']>) => void;
}

async function readForm(
  body: Buffer,
  contentType: string | undefined,
  reader: PartReader,
): Promise<void> {
  const [, quoted, plain] = formType.exec(contentType ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (contentType === undefined || boundary === undefined) {
    const message = 'The body must be JSON or multipart/form-data with one boundary';
    throw new GatewayError('invalid_request', message, 'content-type');
  }
  const partsWritten = countPlainParts(body, boundary);
  if (partsWritten === null) {
    const message =
      'The body is not a valid form: each part needs one content-disposition: form-data with a name ' +
      'and no content-transfer-encoding, and nothing may follow a boundary on its line';
    throw new GatewayError('invalid_request', message);
  }
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isRefused = false;
  let partsRead = 0;
  const refuse = (): void => {
    isRefused = true;
    const message = 'The body is not a valid form or has too many parts';
    reject(new GatewayError('invalid_request', message));
  };
  // It may be rejected before it is awaited.
  promise.catch(() => undefined);
  // No part is longer than the body, so that the reader never pauses: it would not go on in a part that it skips.
  const fileHwm = body.length + 1;
  const form = new Busboy({ headers: { 'content-type': contentType }, limits, fileHwm });
  form.on('field', (name, value, isNameCut, isValueCut) => {
    partsRead += 1;
    if (isNameCut || isValueCut) refuse();
    else reader.field(name, value);
  });
  form.on('file', (name, stream, filename, _, type) => {
    partsRead += 1;
    stream.on('error', refuse);
    reader.file(name, stream, { name: filename ?? '', type });
    if (isNamedLikeField(name)) refuse();
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit', 'error'] as const) {
    form.on(event, refuse);
  }
  form.on('finish', () => {
    // It skips parts whose names contain line breaks; another reader would find them.
    if (partsRead === partsWritten) resolve();
    else refuse();
  });
  const turns = new LoopTurns();
  for (let at = 0; at < body.length && !isRefused; at += parsedBytes) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    form.write(body.subarray(at, at + parsedBytes));
  }
  if (!isRefused) form.end();
  return promise;
}

/** Bytes that are parsed between two interruptions. */
const parsedBytes = 256 * 1024;

/** Whether a file part has the name of an id or of an evaluated field, which some readers treat as a field. */
function isNamedLikeField(name: string): boolean {
  return /ids?\]?$/i.test(name) || isEvaluatedMember(name);
}

/**
 * Returns the fields as members, those of the gateway's interest as numbers where they are whole numbers.
 *
 * @throws GatewayError for a form that repeats a field the gateway evaluates
 */
export async function readFormParams(
  body: Buffer,
  contentType: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const params: Record<string, unknown> = Object.create(null);
  for (const [name, value] of await readFormFields(body, contentType)) {
    if (Object.hasOwn(params, name)) {
      if (isEvaluatedMember(name)) {
        throw new GatewayError('invalid_request', `The form repeats the field ${name}`, name);
      }
      params[name] = [params[name], value].flat();
    } else if (isEvaluatedMember(name)) params[name] = evaluatedField(name, value);
    else params[name] = value;
  }
  return params;
}

/** @throws GatewayError for a name in other letters, which a provider could read as the usual one */
function evaluatedField(name: string, value: string): unknown {
  if (name !== name.toLowerCase()) {
    throw new GatewayError('invalid_request', `${name} must be in lower case`, name.toLowerCase());
  }
  if (name === 'stream') return value === 'true';
  return meteredMembers.has(name) && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
