/** Moves inline scripts of the built site into files, so that its policy needs no hashes. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = 'scripts';
/** A script with code of its own; the attributes are kept. */
const inlineScript = /<script(?![^>]*\ssrc=)([^>]*)>([\s\S]*?)<\/script>/g;

/** Returns the number of files written. Scripts keep their order and still run before what follows. */
export function externaliseScripts(out: string, base: string): number {
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
    if (changed !== html) writeFileSync(file, changed);
  }
  return files.size;
}
