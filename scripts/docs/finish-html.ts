/** Finishes the built HTML: inline scripts move into files, and regions that scroll can be focused. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = 'scripts';
/** A script with code of its own; the attributes are kept. */
const inlineScript = /<script(?![^>]*\ssrc=)([^>]*)>([\s\S]*?)<\/script>/g;

/**
 * Returns the number of scripts written. They keep their order and still run before what follows. The
 * policy of the site needs no hashes then, and a keyboard scrolls wide tables and blocks of code.
 */
export function finishHtml(out: string, base: string): number {
  const files = new Set<string>();
  mkdirSync(join(out, folder), { recursive: true });
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
  for (const name of names.filter((one) => one.endsWith('.html'))) {
    const file = join(out, name);
    const html = readFileSync(file, 'utf8');
    const changed = html.replaceAll(inlineScript, (whole, attributes: string, source: string) => {
      if (/type="application\/(?:ld\+)?json"/.test(attributes)) return whole;
      const hash = createHash('sha256').update(source).digest('hex').slice(0, 16);
      const script = `${folder}/${hash}.js`;
      if (!files.has(script)) writeFileSync(join(out, script), source);
      files.add(script);
      return `<script${attributes} src="${base}${script}"></script>`;
    });
    writeFileSync(file, changed.replaceAll(/<(pre|table)>/g, '<$1 tabindex="0">'));
  }
  return files.size;
}
