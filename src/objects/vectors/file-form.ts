/** Knows how a file is sent: the parts of a form, of which one is the file. */
import { Busboy } from '@fastify/busboy';
import { faultOfFileName } from '../../model/stored-file.ts';
import { ObjectError } from '../object-request.ts';

export interface FileForm {
  /** Without folders. */
  readonly name: string;
  readonly content: Buffer;
  /** The other parts by their names: `expires_after[seconds]`. */
  readonly fields: ReadonlyMap<string, string>;
}

interface CameForm extends Pick<FileForm, 'fields'> {
  readonly name: string;
  readonly pieces: Buffer[];
}

const limits = {
  files: 1,
  fields: 16,
  parts: 17,
  fieldNameSize: 100,
  fieldSize: 1_000,
  headerPairs: 20,
};

/** @throws ObjectError for what is no such form */
export async function fileFormOf(
  body: Buffer | null,
  contentType: string | null,
): Promise<FileForm> {
  if (contentType === null || !/^multipart\/form-data\s*;/i.test(contentType)) {
    throw refused('A file is sent as multipart/form-data');
  }
  const { promise, resolve, reject } = Promise.withResolvers<CameForm>();
  const fields = new Map<string, string>();
  let file: Omit<CameForm, 'fields'> | null = null;
  const form = openForm(contentType);
  const refuse = (message: string, param: string | null = null) => reject(refused(message, param));
  form.on('file', (field, stream, name) => {
    if (field !== 'file') {
      stream.resume();
      return refuse('The file must be the part named file', shown(field));
    }
    const pieces: Buffer[] = [];
    file = { name, pieces };
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    // Of a file that ends too early; the form says so, too.
    stream.on('error', () => refuse('The form ends in the midst of the file'));
  });
  form.on('field', (field, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) return refuse('A part of the form is too long', shown(field));
    if (field === 'file') return refuse('The part named file must have a filename', 'file');
    if (fields.has(field)) return refuse('A part of the form is there twice', shown(field));
    fields.set(field, value);
  });
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    form.on(event, () => refuse('The form has too many parts'));
  }
  form.on('error', () => refuse('The body is no valid form'));
  form.on('finish', () => {
    if (file === null) return refuse('A file must be sent, as the part named file', 'file');
    resolve({ ...file, fields });
  });
  form.end(body ?? Buffer.alloc(0));
  const { name, pieces, fields: others } = await promise;
  return { name: nameOf(name), content: Buffer.concat(pieces), fields: others };
}

function openForm(contentType: string): InstanceType<typeof Busboy> {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits });
  } catch {
    throw refused('The Content-Type of a form must say its boundary');
  }
}

function nameOf(name: string | undefined): string {
  const fault = faultOfFileName(name ?? '');
  if (fault !== null) throw refused(`The filename ${fault}`, 'file');
  return name!;
}

/** As it may be told. */
function shown(field: string): string {
  return /^[\w[\]-]{1,64}$/.test(field) ? field : 'file';
}

function refused(message: string, param: string | null = null): ObjectError {
  return new ObjectError('invalid_request', message, param);
}
