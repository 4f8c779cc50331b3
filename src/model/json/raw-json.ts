/** Types the functions of JSON for values that are written as they are, which TypeScript does not declare yet. */

interface RawJson {
  /** Returns an object that JSON.stringify writes as this source. */
  rawJSON(source: string): object;
  isRawJSON(value: unknown): boolean;
}

export const { rawJSON, isRawJSON } = JSON as unknown as RawJson;
