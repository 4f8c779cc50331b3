/** Knows the text of a PDF, and how much room the making of it may take. */

/** Of one piece of memory: a page that is more than that when unpacked is made to be costly. */
const pieceBytesMax = 128 * 1024 * 1024;

let isBounded = false;

/** Page after page; for a thread of its own, in which from then on nothing takes a larger piece of memory. */
export async function pdfText(content: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!isBounded) boundPieces();
  const { extractText, getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(content, { disableFontFace: true, verbosity: 0 });
  const { text } = await extractText(pdf, { mergePages: false });
  await pdf.cleanup();
  return text.join('\n\n');
}

/**
 * No limit of a thread holds for memory that stands outside of its heap. The one way to unpack that
 * grows without asking for a larger piece is taken away; the library has another.
 */
function boundPieces(): void {
  isBounded = true;
  Reflect.deleteProperty(globalThis, 'DecompressionStream');
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct: (target, given, newTarget) => {
      const [size] = given;
      if (typeof size === 'number' && size > pieceBytesMax) throw new RangeError('It is too large');
      return Reflect.construct(target, given, newTarget);
    },
  });
}
