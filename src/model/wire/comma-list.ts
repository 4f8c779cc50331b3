/** Knows how several values are written as one text: between commas, with spaces around them or without. */

export function commaList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}
