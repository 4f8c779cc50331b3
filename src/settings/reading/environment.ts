/** Looks up environment variables by name. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'dotenv';

/**
 * Looks up a variable in the process environment, then in the `.env` file of `cwd`, which is read
 * on the first miss. A missing or unreadable `.env` counts as empty.
 */
export function environmentIn(cwd: string): (name: string) => string | undefined {
  let dotenv: Record<string, string> | undefined;
  return (name) => {
    const real = process.env[name];
    if (real !== undefined) return real;
    dotenv ??= readDotenv(resolve(cwd, '.env'));
    return Object.hasOwn(dotenv, name) ? dotenv[name] : undefined;
  };
}

function readDotenv(file: string): Record<string, string> {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
