/** Finds addresses of images in requests of every format, and what takes their place once they are fetched. */
import { isObject } from '../../model/json/read-object.ts';

type Step = string | number;
type Members = Readonly<Record<string, unknown>>;

export interface ImageAddress {
  readonly url: string;
  /** Path of the value that is replaced. */
  readonly path: readonly Step[];
  /** The value with the image in it. */
  readonly replacement: (image: FetchedImage) => unknown;
}

export interface FetchedImage {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

const remote = /^https?:\/\//i;
const levelsMax = 100;

/** The images that are named by an address, in the order of the document. */
export function imageAddressesIn(document: unknown): ImageAddress[] {
  const found: ImageAddress[] = [];
  addAddresses(document, [], found);
  return found;
}

function addAddresses(value: unknown, path: readonly Step[], found: ImageAddress[]): void {
  if (typeof value !== 'object' || value === null || path.length > levelsMax) return;
  if (Array.isArray(value)) {
    for (const [at, below] of (value as unknown[]).entries())
      addAddresses(below, [...path, at], found);
    return;
  }
  const own = addressOf(value as Members, path);
  if (own !== null) {
    found.push(own);
    return;
  }
  for (const [name, below] of Object.entries(value)) addAddresses(below, [...path, name], found);
}

/** The image that an object is: a part of a chat, an item of a response, a source of Anthropic, a file of Gemini. */
function addressOf(part: Members, path: readonly Step[]): ImageAddress | null {
  const { type, image_url: image, source, fileData } = part;
  if (typeof image === 'string' && remote.test(image)) {
    return { url: image, path: [...path, 'image_url'], replacement: dataUrl };
  }
  if (isObject(image) && typeof image.url === 'string' && remote.test(image.url)) {
    return { url: image.url, path: [...path, 'image_url', 'url'], replacement: dataUrl };
  }
  if (type === 'image' && isObject(source) && typeof source.url === 'string') {
    return { url: source.url, path: [...path, 'source'], replacement: base64Source };
  }
  if (isObject(fileData) && isImageFile(fileData)) {
    const { fileData: _, ...others } = part;
    const url = String(fileData.fileUri);
    return { url, path, replacement: (fetched) => ({ ...others, inlineData: inlineOf(fetched) }) };
  }
  return null;
}

function isImageFile({ fileUri, mimeType }: Members): boolean {
  const isImage = typeof mimeType === 'string' && mimeType.startsWith('image/');
  return isImage && typeof fileUri === 'string' && remote.test(fileUri);
}

function dataUrl({ mediaType, data }: FetchedImage): string {
  return `data:${mediaType};base64,${data}`;
}

function base64Source({ mediaType, data }: FetchedImage) {
  return { type: 'base64', media_type: mediaType, data };
}

function inlineOf({ mediaType, data }: FetchedImage) {
  return { mimeType: mediaType, data };
}

/** First bytes of the types that models accept. WebP has its length in between. */
const signatures: readonly (readonly [mediaType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
];

/** The type that the bytes have, whatever their server says; null for anything but an image that models accept. */
export function imageTypeOf(bytes: Buffer): string | null {
  const head = bytes.subarray(0, 16).toString('latin1');
  return signatures.find(([, pattern]) => pattern.test(head))?.[0] ?? null;
}
