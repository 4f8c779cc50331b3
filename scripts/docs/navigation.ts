/** Derives the navigation of the site from the tables of docs/README.md, so that both list the same pages. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { GeneratedPage } from './manifest-reference.ts';
import { addressOf, type SitePage } from './pages.ts';

interface NavigationLink {
  readonly label: string;
  /** Address of the page: see {@link SitePage}. */
  readonly slug: string;
}

export interface NavigationGroup {
  readonly label: string;
  readonly collapsed: boolean;
  readonly items: readonly (NavigationLink | NavigationGroup)[];
}

/** One group for each section of docs/README.md that has a table; subsections are groups within. */
export function readNavigation(
  root: string,
  pages: readonly SitePage[],
  generated: { readonly http: readonly GeneratedPage[]; readonly kinds: readonly GeneratedPage[] },
): NavigationGroup[] {
  const known = new Set(pages.map(({ file }) => file));
  const groups: { label: string; items: (NavigationLink | NavigationGroup)[] }[] = [];
  let open: (NavigationLink | NavigationGroup)[] = [];
  for (const line of readFileSync(join(root, 'docs/README.md'), 'utf8').split('\n')) {
    const [, rank, label] = /^(##+) (.+)$/.exec(line) ?? [];
    if (label !== undefined) {
      open = [];
      if (rank === '##') groups.push({ label, items: open });
      else groups.at(-1)?.items.push({ label, collapsed: true, items: open });
    }
    const [, text, target] = /^\| \[([^\]]+)\]\(([^)#]+)/.exec(line) ?? [];
    if (target === undefined) continue;
    const file = relative(root, resolve(root, dirname('docs/README.md'), target));
    if (known.has(file)) open.push({ label: text!, slug: addressOf(file) });
  }
  const linksTo = (list: readonly GeneratedPage[]): NavigationLink[] =>
    list.map(({ title, path }) => ({ label: title, slug: path }));
  const reference = groups.find(({ label }) => label === 'Reference');
  reference?.items.push(
    { label: 'Operations of the API', collapsed: true, items: linksTo(generated.http) },
    { label: 'Kinds of manifests', collapsed: true, items: linksTo(generated.kinds) },
  );
  groups.push({ label: 'Runbooks', items: runbookLinks(pages) });
  return groups
    .filter(({ items }) => items.length > 0)
    .map((group) => ({ ...group, collapsed: group.label !== 'Start' && group.label !== 'Guides' }));
}

function runbookLinks(pages: readonly SitePage[]): NavigationLink[] {
  return pages
    .filter(({ path }) => path.startsWith('runbooks/'))
    .map(({ title, path }) => ({ label: title, slug: path }))
    .toSorted((a, b) => a.label.localeCompare(b.label));
}
