/** Names the formats of pictures and documents at Bedrock by their media types. */

export const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
]);

const typesByFormat: ReadonlyMap<string, string> = new Map(
  [...documentFormats].map(([type, format]) => [format, type]),
);

/** Undefined for a format that Bedrock does not have. */
export function documentType(format: string): string | undefined {
  return typesByFormat.get(format);
}
