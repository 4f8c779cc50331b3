/** Collects the Markdown files of the documentation and prepares them as pages of the site. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative, resolve } from 'node:path';

export interface SitePage {
  /** Path of the source in the repository: `docs/guides/regions.md`. */
  readonly file: string;
  /** Address below the root of the site, without slashes at either end; empty for the start page. */
  readonly path: string;
  readonly title: string;
  /** The text without its first heading, with links to other pages of the site. */
  readonly markdown: string;
}

const start = 'docs/README.md';
/** Links to files that are no pages lead to the repository. */
const repository = 'https://github.com/gatewright/gatewright/blob/main';

/** Returns the pages that the start page reaches, and every page of docs/. */
export function collectPages(root: string): SitePage[] {
  const found = new Set<string>([start, ...markdownBelow(root, 'docs')]);
  for (const file of found) {
    for (const target of linksOf(readFileSync(join(root, file), 'utf8'))) {
      const linked = fileOf(root, file, target);
      if (linked?.endsWith('.md') === true) found.add(linked);
    }
  }
  return [...found].map((file) => pageOf(root, file, found));
}

function markdownBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

/** `docs/guides/regions.md` becomes `guides/regions`, `examples/README.md` becomes `examples`. */
export function addressOf(file: string): string {
  const name = file === 'README.md' ? 'readme' : file.replace(/(?:^|\/)README\.md$/, '');
  return name
    .replace(/\.md$/, '')
    .replace(/^docs(?:\/|$)/, '')
    .toLowerCase();
}

function pageOf(root: string, file: string, pages: ReadonlySet<string>): SitePage {
  const text = readFileSync(join(root, file), 'utf8');
  const heading = /^# (.+)\n/m.exec(text);
  if (heading === null) throw new Error(`${file} has no heading of the first rank`);
  const body = text.replace(heading[0], '').replace(/^<!--.*-->\n/, '');
  const markdown = outsideCode(body, (part) =>
    part.replaceAll(linkPattern, (_, before: string, target: string) => {
      return `${before}${siteLink(root, file, target, pages)})`;
    }),
  );
  return { file, path: addressOf(file), title: heading[1]!.replaceAll('`', ''), markdown };
}

/** A link or an image up to its closing parenthesis. */
const linkPattern = /(\]\()([^)\s]+)\)/g;

function linksOf(text: string): string[] {
  const links: string[] = [];
  outsideCode(text, (part) => {
    links.push(...[...part.matchAll(linkPattern)].map(([, , target]) => target!));
    return part;
  });
  return links;
}

/** Applies `change` to everything but fenced blocks and code spans. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text
    .split(/(^ *```[\s\S]*?^ *```$|`(?:[^`\n]|\n(?!\n))+`)/m)
    .map((part) => (part.trimStart().startsWith('`') ? part : change(part)))
    .join('');
}

/** The linked file of the repository; null for another site or a place on the same page. */
function fileOf(root: string, from: string, target: string): string | null {
  if (/^[a-z]+:/.test(target) || target.startsWith('#')) return null;
  const path = relative(root, resolve(root, dirname(from), target.split('#')[0]!));
  const full = join(root, path);
  if (!existsSync(full)) {
    // The build of the image has no tests; documents.test.ts checks links to all files.
    if (!path.endsWith('.md')) return path;
    throw new Error(`${from} links to ${target}, which does not exist`);
  }
  const index = posix.join(path, 'README.md');
  return statSync(full).isDirectory() && existsSync(join(root, index)) ? index : path;
}

function siteLink(root: string, from: string, target: string, pages: ReadonlySet<string>): string {
  const file = fileOf(root, from, target);
  if (file === null) return target;
  const [, anchor] = target.split('#');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (!pages.has(file)) return `${repository}/${file}${suffix}`;
  return `${relativeAddress(addressOf(from), addressOf(file))}${suffix}`;
}

/** From the folder of one page to that of another, so that links work below any base path. */
function relativeAddress(from: string, to: string): string {
  const path = posix.relative(`/${from}`, `/${to}`);
  return path === '' ? './' : `${path}/`;
}
