/** Folds the letter case of a member name, as lenient providers do. */

export function foldedName(name: string): string {
  return /^[a-z\d_]*$/.test(name) ? name : name.toUpperCase().toLowerCase();
}
