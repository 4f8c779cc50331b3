/** Splits a comma-separated text into its values, with or without spaces around the commas. */

export function commaList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}
