/** Configures the documentation site, whose pages scripts/docs/build.ts prepares; `npm run docs` builds it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';

const { GATEWRIGHT_DOCS_BASE, GATEWRIGHT_DOCS_OUT, GATEWRIGHT_DOCS_WORK } = process.env;
if (GATEWRIGHT_DOCS_WORK === undefined) throw new Error('start the build by: npm run docs');

/** Scripts and styles come from files only; the search index is compiled WebAssembly. */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  // The theme sets custom properties, such as the depth of an entry, in attributes.
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

export default defineConfig({
  base: GATEWRIGHT_DOCS_BASE,
  outDir: GATEWRIGHT_DOCS_OUT,
  cacheDir: join(GATEWRIGHT_DOCS_WORK, 'cache'),
  trailingSlash: 'always',
  build: { inlineStylesheets: 'never' },
  vite: { build: { assetsInlineLimit: 0 } },
  // Highlighting would write colours into style attributes.
  markdown: { syntaxHighlight: false },
  integrations: [
    starlight({
      title: 'gatewright',
      head: [
        {
          tag: 'meta',
          attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
        },
      ],
      expressiveCode: false,
      credits: false,
      favicon: '/favicon.svg',
      customCss: ['./src/site.css'],
      pagination: false,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      sidebar: JSON.parse(readFileSync(join(GATEWRIGHT_DOCS_WORK, 'navigation.json'), 'utf8')),
    }),
  ],
});
