/** Loads the pages that scripts/docs/build.ts has prepared. */

import { defineCollection } from 'astro:content';
import { join } from 'node:path';
import { docsSchema } from '@astrojs/starlight/schema';
import { glob } from 'astro/loaders';

const base = join(process.env.GATEWRIGHT_DOCS_WORK ?? '', 'pages');

export const collections = {
  docs: defineCollection({
    loader: glob({
      base,
      pattern: '**/*.md',
      generateId: ({ entry }) => entry.replace(/\.md$/, ''),
    }),
    schema: docsSchema(),
  }),
};
