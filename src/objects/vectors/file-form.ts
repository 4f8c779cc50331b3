/** Parses an uploaded form and streams its file to a consumer while it arrives. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { fileNameFault } from '../../model/objects/stored-file.ts';
import { ObjectError, type Upload } from '../object-request.ts';

export interface FileForm<Content> {
  /** File name without folders. */
  readonly name: string;
  /** Result of the consumer. */
  readonly content: Content;
  /** The other parts by name: `expires_after[seconds]`. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface FileFormTerms<Content> {
  readonly upload: Upload | null;
  readonly contentType: string | null;
  /** Maximum size of the file. */
  readonly bytesMax: number;
  /** Consumes the file; iterating throws if the form is invalid or the caller disconnects. */
  readonly consume: (content: AsyncIterable<Buffer>) => Promise<Content>;
}

interface ReceivedFile<Content> {
  readonly name: string;
  readonly stream: Readable;
  readonly content: Promise<Content>;
}

const limits = {
  files: 1,
  fields: 16,
  parts: 17,
  fieldNameSize: 100,
  fieldSize: 1_000,
  headerPairs: 20,
};
/** Maximum size of all parts except the file, with their headers. */
const restBytesMax = 64 * 1024;

/**
 * Reads the form no faster than the file is consumed.
 *
 * @throws ObjectError for an invalid form, and any error of `keep`; the consumer has then ended
 */
export async function readFileForm<Content>(
  terms: FileFormTerms<Content>,
): Promise<FileForm<Content>> {
  const { upload, contentType, bytesMax } = terms;
  if (contentType === null || !/^multipart\/form-data\s*;/i.test(contentType)) {
    throw invalidForm('A file must be sent as multipart/form-data');
  }
  if ((upload?.bytes ?? 0) > bytesMax + restBytesMax) throw tooLarge(bytesMax);
  const form = new FormReader(contentType, terms);
  try {
    return await form.read(upload?.pieces ?? emptyBody());
  } catch (error) {
    await form.abort(error as Error);
    throw error;
  }
}

/** Reads one form. */
class FormReader<Content> {
  readonly #terms: FileFormTerms<Content>;
  readonly #form: InstanceType<typeof Busboy>;
  readonly #fields = new Map<string, string>();
  readonly #rejection = Promise.withResolvers<never>();
  readonly #finish = Promise.withResolvers<void>();
  #file: ReceivedFile<Content> | null = null;
  #isAborted = false;

  constructor(contentType: string, terms: FileFormTerms<Content>) {
    this.#terms = terms;
    this.#form = openForm(contentType, terms.bytesMax);
    this.#form.on('file', (field, stream, name) => this.#takeFile(field, stream, name));
    this.#form.on('field', (...[field, value, isNameCut, isValueCut]) =>
      this.#takeField(field, value, isNameCut || isValueCut),
    );
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      this.#form.on(event, () => this.#reject('The form has too many parts'));
    }
    this.#form.on('error', () => this.#reject('The body is not a valid form'));
    this.#form.on('finish', this.#finish.resolve);
  }

  async read(pieces: AsyncIterable<Buffer>): Promise<FileForm<Content>> {
    const whole = Promise.all([this.#pump(pieces), this.#finish.promise]);
    await Promise.race([this.#rejection.promise, whole]);
    if (this.#file === null) throw invalidForm('The form must contain a part named file', 'file');
    const { name, content } = this.#file;
    return { name, content: await content, fields: this.#fields };
  }

  /** Aborts the consumer of the file and waits until it has ended. */
  async abort(reason: Error): Promise<void> {
    this.#isAborted = true;
    this.#file?.stream.destroy(reason);
    await this.#file?.content.catch(() => undefined);
  }

  async #pump(pieces: AsyncIterable<Buffer>): Promise<void> {
    for await (const piece of pieces) {
      if (this.#isAborted) return;
      if (!this.#form.write(piece)) await once(this.#form, 'drain');
    }
    this.#form.end();
  }

  #takeFile(field: string, stream: Readable & { truncated: boolean }, name: string): void {
    const fault = field === 'file' ? fileNameFault(name ?? '') : null;
    if (field === 'file' && fault === null) {
      // Without a listener, an early error would be unhandled; the consumer sees the destroyed stream later.
      stream.on('error', (error) => stream.destroy(error));
      const content = this.#terms.consume(contentOf(stream, this.#terms.bytesMax));
      content.catch(this.#rejection.reject);
      this.#file = { name, stream, content };
      return;
    }
    stream.on('error', () => undefined).resume();
    if (fault !== null) this.#reject(`The filename ${fault}`, 'file');
    else this.#reject('The file must be in the part named file', safeFieldName(field));
  }

  #takeField(field: string, value: string, isCut: boolean): void {
    if (isCut) this.#reject('A part of the form is too long', safeFieldName(field));
    else if (field === 'file') this.#reject('The part named file must have a filename', 'file');
    else if (this.#fields.has(field))
      this.#reject('A part of the form occurs twice', safeFieldName(field));
    else this.#fields.set(field, value);
  }

  #reject(message: string, param: string | null = null): void {
    this.#rejection.reject(invalidForm(message, param));
  }
}

async function* contentOf(
  stream: Readable & { readonly truncated: boolean },
  bytesMax: number,
): AsyncGenerator<Buffer, void> {
  try {
    yield* stream;
  } catch (error) {
    // Error of a file that ends early; the form reports it as well.
    const isTruncation = /^Part terminated early/.test((error as Error).message);
    throw isTruncation ? invalidForm('The form ends within the file') : error;
  }
  if (stream.truncated) throw tooLarge(bytesMax);
}

async function* emptyBody(): AsyncGenerator<Buffer, void> {}

function openForm(contentType: string, fileSize: number): InstanceType<typeof Busboy> {
  try {
    const headers = { 'content-type': contentType };
    return new Busboy({ headers, limits: { ...limits, fileSize } });
  } catch {
    throw invalidForm('The Content-Type of a form must contain its boundary');
  }
}

/** The name of the field, if it is safe to repeat in an error. */
function safeFieldName(field: string): string {
  return /^[\w[\]-]{1,64}$/.test(field) ? field : 'file';
}

function invalidForm(message: string, param: string | null = null): ObjectError {
  return new ObjectError('invalid_request', message, param);
}

function tooLarge(bytesMax: number): ObjectError {
  return new ObjectError('body_too_large', `The file has more than ${bytesMax} bytes`, 'file');
}
