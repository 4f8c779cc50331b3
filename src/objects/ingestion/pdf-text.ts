/** Extracts the text of a PDF with a bound on its memory. */

/** Maximum size of one allocation; a page that needs more is made to be expensive. */
const pieceBytesMax = 128 * 1024 * 1024;

let isBounded = false;

/** Returns the text of all pages. Must run in its own thread, because it limits allocations of the whole thread. */
export async function pdfText(content: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!isBounded) boundPieces();
  const { extractText, getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(content, { disableFontFace: true, verbosity: 0 });
  const { text } = await extractText(pdf, { mergePages: false });
  await pdf.cleanup();
  return text.join('\n\n');
}

/**
 * The memory limits of a thread do not cover memory outside its heap. DecompressionStream, which grows
 * without large allocations, is removed; the library has a fallback.
 */
function boundPieces(): void {
  isBounded = true;
  Reflect.deleteProperty(globalThis, 'DecompressionStream');
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct: (target, args, newTarget) => {
      const [size] = args;
      if (typeof size === 'number' && size > pieceBytesMax) throw new RangeError('It is too large');
      return Reflect.construct(target, args, newTarget);
    },
  });
}
