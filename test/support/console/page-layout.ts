/** Describes the layout of a page of the console by its regions, independent of fonts. */
import type { Page } from 'playwright-core';

interface Region {
  readonly name: string;
  readonly left: number;
  readonly width: number;
  readonly top: number;
  readonly bottom: number;
}

/** Regions, in the order of the document. Descriptions have no heights, because these depend on fonts. */
const selector = 'aside.navigation, main, header.page, .counts, .filters, .panel, .table, .plots';

const readRegions = `[...document.querySelectorAll('${selector}')].filter((one) => one.checkVisibility()).map((one) => {
  const { left, top, width, bottom } = one.getBoundingClientRect();
  const heading = one.matches('.panel') ? one.querySelector('h2')?.textContent : undefined;
  const caption = one.querySelector(':scope > table > caption')?.textContent;
  const kind = one.matches('aside') ? 'navigation' : one.matches('.panel') ? 'panel' : one.className || one.localName;
  return { name: [kind, heading ?? caption].filter(Boolean).join(' '), left, top, width, bottom };
})`;

/** `panel Traffic: 256 to 1264` for each region, in CSS pixels, and a line for each fault. */
export async function layoutOf(page: Page): Promise<string[]> {
  const regions = await page.evaluate<Region[]>(readRegions);
  const viewport = page.viewportSize()!;
  const lines = regions.map(
    ({ name, left, width }) => `${name}: ${Math.round(left)} to ${Math.round(left + width)}`,
  );
  const wide = regions.filter(({ left, width }) => left < -1 || left + width > viewport.width + 1);
  return [...lines, ...wide.map(({ name }) => `${name} is cut off`), ...overlaps(regions)];
}

/** Two regions may contain each other, but not overlap in part. */
function overlaps(regions: readonly Region[]): string[] {
  return regions.flatMap((one, at) =>
    regions
      .slice(at + 1)
      .filter((other) => overlapInPart(one, other))
      .map(({ name }) => `${one.name} overlaps ${name}`),
  );
}

const pixel = 1;

function overlapInPart(one: Region, other: Region): boolean {
  const isApart =
    other.left >= one.left + one.width - pixel ||
    one.left >= other.left + other.width - pixel ||
    other.top >= one.bottom - pixel ||
    one.top >= other.bottom - pixel;
  return !(isApart || contains(one, other) || contains(other, one));
}

function contains(outer: Region, inner: Region): boolean {
  return (
    inner.left >= outer.left - pixel &&
    inner.left + inner.width <= outer.left + outer.width + pixel &&
    inner.top >= outer.top - pixel &&
    inner.bottom <= outer.bottom + pixel
  );
}
