/** Verifies the documentation site: links, anchors, policy, search and completeness. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { addressOf } from '../../scripts/docs/pages.ts';
import { kindNames } from '../../src/model/kinds/kinds.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { buildSite } from './site-build.ts';

const root = resolve(import.meta.dirname, '../..');
const base = '/console/docs/';
const built = await buildSite(base);
const reason = typeof built === 'string' ? built : null;

function site(): Exclude<typeof built, string> {
  if (typeof built === 'string') throw new Error(built);
  return built;
}

afterAll(() => {
  if (typeof built !== 'string') built[Symbol.dispose]();
});

/** Values of an attribute, without entities. */
function valuesOf(html: string, attribute: string): string[] {
  return [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'))].map(([, value]) =>
    value!.replaceAll('&amp;', '&'),
  );
}

/** Addresses on this site that lead nowhere. */
function brokenLinks(address: string, html: string): string[] {
  const { folder, pages } = site();
  const page = new URL(`${base}${address}`, 'http://site');
  return [...valuesOf(html, 'href'), ...valuesOf(html, 'src')].filter((target) => {
    if (!URL.canParse(target, page.href)) return true;
    const { origin, pathname, hash } = new URL(target, page.href);
    if (origin !== page.origin) return false;
    if (!pathname.startsWith(base)) return true;
    const path = decodeURIComponent(pathname.slice(base.length));
    const linked = pages.get(path);
    if (linked === undefined) return path.endsWith('/') || !existsSync(join(folder, path));
    return hash !== '' && !valuesOf(linked, 'id').includes(decodeURIComponent(hash.slice(1)));
  });
}

describe.skipIf(reason !== null)(titleWithReason('the documentation site', reason), () => {
  it('has a page for every document', () => {
    const documents = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => addressOf(`docs/${name}`))
      .map((address) => (address === '' ? '' : `${address}/`));
    expect(documents.length).toBeGreaterThan(50);
    expect(documents.filter((address) => !site().pages.has(address))).toEqual([]);
  });

  it('has a page for every kind of manifest', () => {
    const addresses = kindNames.map((kind) => `reference/kinds/${kind.toLowerCase()}/`);
    expect(addresses.filter((address) => !site().pages.has(address))).toEqual([]);
  });

  it('describes a route of the Admin API with its fields', () => {
    const html = site().pages.get('reference/http/api-keys/')!;
    expect(valuesOf(html, 'id')).toContain('post-v2api-keysidrotate');
    expect(html).toContain('<code>key_transition_period_ms</code>');
  });

  it('describes nested fields of a kind of manifest', () => {
    expect(site().pages.get('reference/kinds/apikey/')).toContain(
      '<code>usageLimits.creditLimit</code> (required)',
    );
  });

  it('has no broken link or anchor', () => {
    const broken = [...site().pages].flatMap(([address, html]) =>
      brokenLinks(address, html).map((target) => `${address}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('loads nothing from other hosts and runs no inline code', () => {
    const faults = [...site().pages].flatMap(([address, html]) => {
      const loaded = [
        ...valuesOf(html, 'src'),
        ...[...html.matchAll(/<link [^>]*>/g)].flatMap(([tag]) => valuesOf(tag, 'href')),
      ].filter((target) => /^(?:[a-z]+:)?\/\//.test(target));
      const inline = html.match(/<script(?![^>]*\ssrc=)[^>]*>|<style|\son[a-z]+="/g) ?? [];
      return [...loaded, ...inline].map((fault) => `${address}: ${fault}`);
    });
    expect(faults).toEqual([]);
  });

  it('lets a keyboard scroll tables and blocks of code', () => {
    const fixed = [...site().pages].filter(([, html]) => /<(?:pre|table)>/.test(html));
    expect(fixed.map(([address]) => address)).toEqual([]);
  });

  it('declares a policy that permits only its own files', () => {
    const policy = `content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'`;
    const without = [...site().pages].filter(
      ([, html]) => !html.replaceAll('&#39;', "'").includes(policy),
    );
    expect(without.map(([address]) => address)).toEqual([]);
  });
});

interface SearchIndex {
  options(values: { readonly baseUrl: string; readonly basePath: string }): Promise<void>;
  search(text: string): Promise<{
    readonly results: readonly { data(): Promise<{ readonly url: string }> }[];
  }>;
}

describe.skipIf(reason !== null)(titleWithReason('the search of the site', reason), () => {
  afterEach(() => vi.unstubAllGlobals());

  it('finds "rotation" without a server', async () => {
    const { folder } = site();
    vi.stubGlobal('location', { href: `http://site${base}`, origin: 'http://site' });
    vi.stubGlobal('document', { querySelector: () => ({ getAttribute: () => 'en' }) });
    vi.stubGlobal('fetch', async (address: string) => {
      const [path] = address.slice(base.length).split('?');
      return new Response(readFileSync(join(folder, path!)));
    });
    const script = pathToFileURL(join(folder, 'pagefind/pagefind.js')).href;
    const index = (await import(/* @vite-ignore */ script)) as SearchIndex;
    await index.options({ baseUrl: base, basePath: `${base}pagefind/` });
    const { results } = await index.search('rotation');
    const found = await Promise.all(results.map(async (result) => (await result.data()).url));
    expect(found).toContain(`${base}guides/key-delivery/`);
  });
});
