/** Knows how what lies in a source and is no manifest is told: counted, with the first names. */
import type { LeftAlone } from './spec/resource-set.ts';

const namesShownMax = 5;

/** A line for each cause; none where nothing was left alone. */
export function leftAloneLines({ ignored }: LeftAlone): string[] {
  const lines: string[] = [];
  if (ignored.length > 0) {
    lines.push(`${ignored.length} left out by .gatewrightignore: ${listed(ignored)}`);
  }
  return lines;
}

/** The first names, and how many more there are. */
function listed(names: readonly string[]): string {
  const hidden = names.length - namesShownMax;
  const shown = names.slice(0, namesShownMax).join(', ');
  return hidden > 0 ? `${shown} and ${hidden} more` : shown;
}
