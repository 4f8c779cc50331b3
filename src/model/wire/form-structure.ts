/** Verifies the delimiters and part headers of a multipart form, which readers of forms skip or read differently when they are unusual. */

const lineEnd = '\r\n';
const headersEnd = '\r\n\r\n';
/** Bytes of the headers of one part. */
const headersMax = 16 * 1024;
/** Encodings that change no byte. Some readers of forms decode others, and some do not. */
const plainEncoding = /^content-transfer-encoding:[ \t]*(?:7bit|8bit|binary)[ \t]*$/i;
const disposition = /^content-disposition:[ \t]*form-data[ \t]*;.*\bname=/i;

/**
 * Whether each part has exactly one `content-disposition: form-data` with a name, no header continues on a second
 * line, no part is encoded, and nothing follows a delimiter on its line. Parts without a name would be skipped, and
 * skipping a long one never ends in the reader that forms are read with.
 */
export function hasPlainParts(body: Buffer, boundary: string): boolean {
  const delimiter = `--${boundary}`;
  const nextFrom = (from: number): number => body.indexOf(lineEnd + delimiter, from);
  let at = body.indexOf(delimiter) === 0 ? -lineEnd.length : nextFrom(0);
  for (let isFirst = true; isFirst || at >= 0; isFirst = false) {
    const after = at + lineEnd.length + delimiter.length;
    const mark = body.toString('latin1', after, after + lineEnd.length);
    if (mark === '--') return true;
    const end = body.indexOf(headersEnd, after);
    if (mark !== lineEnd || end < 0 || end - after > headersMax) return false;
    if (!hasPlainHeaders(body.toString('latin1', after + lineEnd.length, end))) return false;
    at = nextFrom(end + lineEnd.length);
  }
  return false;
}

function hasPlainHeaders(text: string): boolean {
  const lines = text.split(lineEnd);
  const dispositions = lines.filter((line) => /^content-disposition\s*:/i.test(line));
  const encodings = lines.filter((line) => /^content-transfer-encoding\s*:/i.test(line));
  return (
    dispositions.length === 1 &&
    disposition.test(dispositions[0]!) &&
    encodings.every((line) => plainEncoding.test(line)) &&
    lines.every((line) => /^[!-9;-~]+:/.test(line))
  );
}
