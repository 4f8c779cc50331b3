/** Knows how a file is sent: the parts of a form, of which one is the file, which is handed on as it comes. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { faultOfFileName } from '../../model/objects/stored-file.ts';
import { ObjectError, type Upload } from '../object-request.ts';

export interface FileForm<Kept> {
  /** Without folders. */
  readonly name: string;
  /** What was made of the bytes. */
  readonly content: Kept;
  /** The other parts by their names: `expires_after[seconds]`. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface FileFormTerms<Kept> {
  readonly upload: Upload | null;
  readonly contentType: string | null;
  /** Of the file. */
  readonly bytesMax: number;
  /** Takes the file in; its pieces throw where the form turns out to be none, or its caller goes away. */
  readonly keep: (content: AsyncIterable<Buffer>) => Promise<Kept>;
}

interface Filed<Kept> {
  readonly name: string;
  readonly stream: Readable;
  readonly content: Promise<Kept>;
}

const limits = {
  files: 1,
  fields: 16,
  parts: 17,
  fieldNameSize: 100,
  fieldSize: 1_000,
  headerPairs: 20,
};
/** All parts but the file, with what stands between them. */
const restBytesMax = 64 * 1024;

/**
 * Reads no faster than the file is taken in.
 *
 * @throws ObjectError for what is no such form, or what `keep` throws, which has come to its end then
 */
export async function readFileForm<Kept>(terms: FileFormTerms<Kept>): Promise<FileForm<Kept>> {
  const { upload, contentType, bytesMax } = terms;
  if (contentType === null || !/^multipart\/form-data\s*;/i.test(contentType)) {
    throw refused('A file is sent as multipart/form-data');
  }
  if ((upload?.bytes ?? 0) > bytesMax + restBytesMax) throw tooLarge(bytesMax);
  const form = new ComingForm(contentType, terms);
  try {
    return await form.read(upload?.pieces ?? nothing());
  } catch (error) {
    await form.leave(error as Error);
    throw error;
  }
}

/** One that is being read. */
class ComingForm<Kept> {
  readonly #terms: FileFormTerms<Kept>;
  readonly #form: InstanceType<typeof Busboy>;
  readonly #fields = new Map<string, string>();
  readonly #refusal = Promise.withResolvers<never>();
  readonly #finish = Promise.withResolvers<void>();
  #file: Filed<Kept> | null = null;
  #isLeft = false;

  constructor(contentType: string, terms: FileFormTerms<Kept>) {
    this.#terms = terms;
    this.#form = openForm(contentType, terms.bytesMax);
    this.#form.on('file', (field, stream, name) => this.#takeFile(field, stream, name));
    this.#form.on('field', (...[field, value, isNameCut, isValueCut]) =>
      this.#takeField(field, value, isNameCut || isValueCut),
    );
    for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      this.#form.on(event, () => this.#refuse('The form has too many parts'));
    }
    this.#form.on('error', () => this.#refuse('The body is no valid form'));
    this.#form.on('finish', this.#finish.resolve);
  }

  async read(pieces: AsyncIterable<Buffer>): Promise<FileForm<Kept>> {
    const whole = Promise.all([this.#pump(pieces), this.#finish.promise]);
    await Promise.race([this.#refusal.promise, whole]);
    if (this.#file === null) throw refused('A file must be sent, as the part named file', 'file');
    const { name, content } = this.#file;
    return { name, content: await content, fields: this.#fields };
  }

  /** Ends what takes the file in, and waits until it has. */
  async leave(reason: Error): Promise<void> {
    this.#isLeft = true;
    this.#file?.stream.destroy(reason);
    await this.#file?.content.catch(() => undefined);
  }

  async #pump(pieces: AsyncIterable<Buffer>): Promise<void> {
    for await (const piece of pieces) {
      if (this.#isLeft) return;
      if (!this.#form.write(piece)) await once(this.#form, 'drain');
    }
    this.#form.end();
  }

  #takeFile(field: string, stream: Readable & { truncated: boolean }, name: string): void {
    const fault = field === 'file' ? faultOfFileName(name ?? '') : null;
    if (field === 'file' && fault === null) {
      // That it ends too early is told at once, which nobody may hear yet: whoever takes it in later finds it broken.
      stream.on('error', (error) => stream.destroy(error));
      const content = this.#terms.keep(contentOf(stream, this.#terms.bytesMax));
      content.catch(this.#refusal.reject);
      this.#file = { name, stream, content };
      return;
    }
    stream.on('error', () => undefined).resume();
    if (fault !== null) this.#refuse(`The filename ${fault}`, 'file');
    else this.#refuse('The file must be the part named file', shown(field));
  }

  #takeField(field: string, value: string, isCut: boolean): void {
    if (isCut) this.#refuse('A part of the form is too long', shown(field));
    else if (field === 'file') this.#refuse('The part named file must have a filename', 'file');
    else if (this.#fields.has(field))
      this.#refuse('A part of the form is there twice', shown(field));
    else this.#fields.set(field, value);
  }

  #refuse(message: string, param: string | null = null): void {
    this.#refusal.reject(refused(message, param));
  }
}

async function* contentOf(
  stream: Readable & { readonly truncated: boolean },
  bytesMax: number,
): AsyncGenerator<Buffer, void> {
  try {
    yield* stream;
  } catch (error) {
    // Of a file that ends too early; the form says so, too.
    const isOfForm = /^Part terminated early/.test((error as Error).message);
    throw isOfForm ? refused('The form ends in the midst of the file') : error;
  }
  if (stream.truncated) throw tooLarge(bytesMax);
}

async function* nothing(): AsyncGenerator<Buffer, void> {}

function openForm(contentType: string, fileSize: number): InstanceType<typeof Busboy> {
  try {
    const headers = { 'content-type': contentType };
    return new Busboy({ headers, limits: { ...limits, fileSize } });
  } catch {
    throw refused('The Content-Type of a form must say its boundary');
  }
}

/** As it may be told. */
function shown(field: string): string {
  return /^[\w[\]-]{1,64}$/.test(field) ? field : 'file';
}

function refused(message: string, param: string | null = null): ObjectError {
  return new ObjectError('invalid_request', message, param);
}

function tooLarge(bytesMax: number): ObjectError {
  return new ObjectError('body_too_large', `The file has more than ${bytesMax} bytes`, 'file');
}
