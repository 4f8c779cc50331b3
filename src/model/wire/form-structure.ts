/** Verifies the delimiters and part headers of a multipart form, which readers of forms skip or read differently when they are unusual. */

const lineEnd = '\r\n';
const headersEnd = '\r\n\r\n';
/** Bytes of the headers of one part. */
const headersMax = 16 * 1024;
const disposition = /^content-disposition:[ \t]*form-data[ \t]*;.*\bname=/i;

/**
 * Number of parts of a form. Null unless each part has exactly one `content-disposition: form-data` with a name, no
 * header continues on a second line or contains half a line end, and nothing follows a delimiter on its line. Parts
 * without a name would be skipped.
 */
export function countPlainParts(body: Buffer, boundary: string): number | null {
  const delimiter = `--${boundary}`;
  const nextFrom = (from: number): number => body.indexOf(lineEnd + delimiter, from);
  let at = body.indexOf(delimiter) === 0 ? -lineEnd.length : nextFrom(0);
  for (let count = 0; count === 0 || at >= 0; count += 1) {
    const after = at + lineEnd.length + delimiter.length;
    const mark = body.toString('latin1', after, after + lineEnd.length);
    if (mark === '--') return count;
    const end = body.indexOf(headersEnd, after);
    if (mark !== lineEnd || end < 0 || end - after > headersMax) return null;
    if (!hasPlainHeaders(body.toString('latin1', after + lineEnd.length, end))) return null;
    at = nextFrom(end + lineEnd.length);
  }
  return null;
}

function hasPlainHeaders(text: string): boolean {
  const lines = text.split(lineEnd);
  const dispositions = lines.filter((line) => /^content-disposition\s*:/i.test(line));
  return (
    dispositions.length === 1 &&
    disposition.test(dispositions[0]!) &&
    lines.every((line) => /^[!-9;-~]+:[^\r\n\0]*$/.test(line))
  );
}
